//! The ids of texts that were met before: words, or messages whole. Shared by all threads of one tokenizer; a
//! call reads what is there and leaves what it learnt, if nobody reads at that moment: no thread waits for
//! another's encoding.

use ahash::AHashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

/// What a cache holds at most; then it begins anew.
pub struct Limits {
    pub texts: usize,
    pub bytes: usize,      // of all texts
    pub text_bytes: usize, // of one: longer ones are not kept
}

#[derive(Default)]
struct Texts {
    places: AHashMap<Box<str>, (u32, u32)>, // text -> begin and end in ids
    ids: Vec<i32>,
    bytes: usize,
}

impl Texts {
    fn append(&self, text: &str, out: &mut Vec<i32>) -> bool {
        let Some((begin, end)) = self.places.get(text) else { return false };
        out.extend_from_slice(&self.ids[*begin as usize..*end as usize]);
        true
    }

    fn insert(&mut self, text: Box<str>, ids: &[i32]) {
        let begin = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        self.bytes += text.len();
        self.places.insert(text, (begin, self.ids.len() as u32));
    }

    fn fits(&self, texts: usize, bytes: usize, limits: &Limits) -> bool {
        self.places.len() + texts <= limits.texts && self.bytes + bytes <= limits.bytes
    }
}

pub struct IdCache {
    limits: Limits,
    texts: RwLock<Texts>,
}

/// One call's view: what was known when it began, and what it learnt.
pub struct Session<'a> {
    cache: &'a IdCache,
    known: RwLockReadGuard<'a, Texts>,
    learnt: Texts,
}

impl IdCache {
    pub fn new(limits: Limits) -> Self {
        IdCache { limits, texts: RwLock::default() }
    }

    pub fn session(&self) -> Session<'_> {
        let known = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        Session { cache: self, known, learnt: Texts::default() }
    }
}

impl Session<'_> {
    /// Appends the text's ids to out, from `encode` (which appends them) where nobody knows them.
    pub fn append<E>(
        &mut self,
        text: &str,
        out: &mut Vec<i32>,
        encode: impl FnOnce(&mut Vec<i32>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.known.append(text, out) || self.learnt.append(text, out) {
            return Ok(());
        }
        let begin = out.len();
        encode(out)?;
        let limits = &self.cache.limits;
        if text.len() <= limits.text_bytes && self.learnt.fits(1, text.len(), limits) {
            self.learnt.insert(text.into(), &out[begin..]);
        }
        Ok(())
    }

    pub fn finish(self) {
        let Session { cache, known, learnt } = self;
        drop(known);
        if learnt.places.is_empty() {
            return;
        }
        let mut texts = match cache.texts.try_write() {
            Ok(texts) => texts,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if !texts.fits(learnt.places.len(), learnt.bytes, &cache.limits) {
            *texts = Texts::default();
        }
        for (text, (begin, end)) in learnt.places {
            texts.insert(text, &learnt.ids[begin as usize..end as usize]);
        }
    }
}
