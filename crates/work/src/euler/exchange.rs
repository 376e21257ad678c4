//! Exchange of the layers at the ends of slabs, which neighbours read.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::slab::{GasSlab, PARTS};
use super::sweep::BEYOND;

/// Copies of the layers that others need. There are two, so that one step's can be written while others still read the previous step's.
pub struct LayerExchange {
    layers: Vec<[Mutex<Vec<f64>>; 2]>,
}

impl LayerExchange {
    /// Creates the copies for a box.
    pub fn new(layers: usize) -> Self {
        Self { layers: (0..layers).map(|_| Default::default()).collect() }
    }

    fn lock_layer(&self, layer: usize, step: u64) -> MutexGuard<'_, Vec<f64>> {
        let copies = &self.layers[layer % self.layers.len()];
        copies[(step % 2) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the layers at both ends of a slab.
    pub fn publish_ends(&self, slab: &GasSlab, step: u64) {
        let layers = slab.layers();
        for layer in layers.clone() {
            if layer < layers.start + BEYOND || layer + BEYOND >= layers.end {
                let mut copy = self.lock_layer(layer, step);
                copy.clear();
                (0..PARTS).for_each(|part| copy.extend_from_slice(slab.layer_part(layer, part)));
            }
        }
    }

    /// Copies the layers beyond both ends of a slab into it. All threads must have published theirs. The box is a ring.
    pub fn fetch_beyond(&self, slab: &mut GasSlab, step: u64) {
        let (layers, all) = (slab.layers(), self.layers.len());
        if layers.is_empty() {
            return;
        }
        for (number, beyond) in slab.beyond().iter_mut().enumerate() {
            let layer =
                if number < BEYOND { all + layers.start + number - BEYOND } else { layers.end + number - BEYOND };
            beyond.copy_from_slice(&self.lock_layer(layer, step));
        }
    }
}
