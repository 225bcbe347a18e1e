//! Keeps names and sizes, discards bytes, and makes up others when asked.

use std::io;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;

use super::{Catalogue, Chunks, Data, Part, Store};
use crate::wire::error::Answer;
use crate::wire::incoming::Content;

/// The pattern's period: a prime just above 1 MiB, so that bytes read from the wrong offset
/// differ for every usual block size.
pub(super) const PERIOD: usize = 1_048_583;

pub(super) struct NullStore {
    pattern: Bytes,
}

impl NullStore {
    pub(super) fn new(seed: u64) -> Self {
        let mut pattern = vec![0; PERIOD];
        fastrand::Rng::with_seed(seed).fill(&mut pattern);
        Self { pattern: pattern.into() }
    }
}

#[async_trait]
impl Store for NullStore {
    fn load(&self) -> io::Result<Catalogue> {
        Ok(Catalogue::default())
    }

    /// Nobody reads these bytes back, and MD5 would be the slowest part by far.
    fn computes_md5(&self) -> bool {
        false
    }

    async fn receive(&self, body: &mut dyn Content) -> Answer<Data> {
        while body.next().await?.is_some() {}
        Ok(Data::Pattern)
    }

    async fn assemble(&self, _parts: Vec<Part>) -> io::Result<Data> {
        Ok(Data::Pattern)
    }

    async fn open(&self, _data: &Data, range: Range<u64>) -> io::Result<Chunks> {
        Ok(Chunks::pattern(self.pattern.clone(), range))
    }
}
