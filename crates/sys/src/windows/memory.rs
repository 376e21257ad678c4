//! Fresh memory that two threads can talk over, on a node that is known.

use std::collections::BTreeMap;
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::AtomicU64;

use super::missing::{Never, answers, missing};
pub use crate::values::memory::{Available, LINE_BYTES, PageSize, Word};

#[derive(Debug)]
pub struct Memory<W: Word = AtomicU64>(Never, PhantomData<W>);

impl<W: Word> Memory<W> {
    answers! {
        fn new(usize) -> io::Result<Self> = missing();
        fn on_node(usize, u32) -> io::Result<Self> = missing();
        fn untouched(usize, Option<u32>, PageSize) -> io::Result<Self> = missing();
    }

    pub fn touch(&self, _: Range<usize>) {
        match self.0 {}
    }

    pub const fn bytes(&self) -> usize {
        match self.0 {}
    }

    pub fn nodes(&self, _: usize) -> io::Result<BTreeMap<u32, usize>> {
        match self.0 {}
    }

    pub fn huge_share(&self) -> Option<f64> {
        match self.0 {}
    }

    pub fn words_mut(&mut self) -> &mut [u64] {
        match self.0 {}
    }

    pub fn home(&self) -> Option<u32> {
        match self.0 {}
    }

    pub fn words(&self) -> &[W] {
        match self.0 {}
    }

    pub const fn lines(&self) -> usize {
        match self.0 {}
    }

    pub fn line(&self, _: usize) -> &W {
        match self.0 {}
    }
}

impl Available {
    answers! {
        fn now() -> Option<Self> = None;
    }
}
