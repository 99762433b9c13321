//! The ids of words that were met before. Shared by all threads of one tokenizer; a call reads what
//! is there and leaves what it learnt, if nobody reads at that moment: no thread waits for another's
//! encoding.

use ahash::AHashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

const WORDS_MAX: usize = 32768; // then it begins anew
const WORD_BYTES_MAX: usize = 64;

#[derive(Default)]
struct Words {
    places: AHashMap<Box<str>, (u32, u32)>, // word -> begin and end in ids
    ids: Vec<i32>,
}

impl Words {
    fn append(&self, word: &str, out: &mut Vec<i32>) -> bool {
        let Some((begin, end)) = self.places.get(word) else { return false };
        out.extend_from_slice(&self.ids[*begin as usize..*end as usize]);
        true
    }

    fn insert(&mut self, word: Box<str>, ids: &[i32]) {
        let begin = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        self.places.insert(word, (begin, self.ids.len() as u32));
    }
}

#[derive(Default)]
pub struct WordCache {
    words: RwLock<Words>,
}

/// One call's view: what was known when it began, and what it learnt.
pub struct Session<'a> {
    cache: &'a WordCache,
    known: RwLockReadGuard<'a, Words>,
    learnt: Words,
}

impl WordCache {
    pub fn session(&self) -> Session<'_> {
        let known = self.words.read().unwrap_or_else(PoisonError::into_inner);
        Session { cache: self, known, learnt: Words::default() }
    }
}

impl Session<'_> {
    /// Appends the word's ids to out, from `encode` (which appends them) where nobody knows them.
    pub fn append<E>(
        &mut self,
        word: &str,
        out: &mut Vec<i32>,
        encode: impl FnOnce(&mut Vec<i32>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.known.append(word, out) || self.learnt.append(word, out) {
            return Ok(());
        }
        let begin = out.len();
        encode(out)?;
        if word.len() <= WORD_BYTES_MAX && self.learnt.places.len() < WORDS_MAX / 2 {
            self.learnt.insert(word.into(), &out[begin..]);
        }
        Ok(())
    }

    pub fn finish(self) {
        let Session { cache, known, learnt } = self;
        drop(known);
        if learnt.places.is_empty() {
            return;
        }
        let mut words = match cache.words.try_write() {
            Ok(words) => words,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if words.places.len() + learnt.places.len() > WORDS_MAX {
            *words = Words::default();
        }
        for (word, (begin, end)) in learnt.places {
            words.insert(word, &learnt.ids[begin as usize..end as usize]);
        }
    }
}
