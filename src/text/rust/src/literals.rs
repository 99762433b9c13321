//! The parts of a text that are meant literally: no special token is recognised in them.

use crate::abi::Failure;
use std::ops::Range;

/// As it crosses the C boundary.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TextRange {
    pub begin: usize,
    pub end: usize,
}

#[derive(Clone, Copy)]
pub enum Literals<'a> {
    All,
    These(&'a [TextRange]), // in order, none touches another's inside
}

impl<'a> Literals<'a> {
    pub fn checked(ranges: &'a [TextRange], text_size: usize) -> Result<Self, Failure> {
        let mut done = 0;
        for range in ranges {
            if range.begin < done || range.end < range.begin || range.end > text_size {
                return Err(Failure::new("the literal ranges are not in order within the text"));
            }
            done = range.end;
        }
        Ok(Literals::These(ranges))
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Literals::These(ranges) if ranges.is_empty())
    }

    pub fn touch(&self, part: &Range<usize>) -> bool {
        let Literals::These(ranges) = self else { return true };
        let first = ranges.partition_point(|range| range.end <= part.start);
        ranges.get(first).is_some_and(|range| range.begin < part.end)
    }
}
