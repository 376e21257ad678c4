//! Places of a fleet's configurations by their hashes: ten thousand nodes may have as many.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::NodeConfiguration;

/// Places of configurations by their hashes. It follows from the configurations, so that all indexes count as equal.
#[derive(Clone, Debug, Default)]
pub(super) struct ConfigurationIndex {
    places: HashMap<u64, Vec<usize>>,
    /// Number of configurations that are in it.
    indexed: usize,
}

impl PartialEq for ConfigurationIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl ConfigurationIndex {
    /// Returns the place of a configuration, and adds it at the end if it is new. The others may come from a file, without an index.
    pub fn find_or_add(&mut self, configurations: &mut Vec<NodeConfiguration>, wanted: NodeConfiguration) -> usize {
        while let Some(known) = configurations.get(self.indexed) {
            self.places.entry(hash_configuration(known)).or_default().push(self.indexed);
            self.indexed += 1;
        }
        let places = self.places.entry(hash_configuration(&wanted)).or_default();
        if let Some(place) = places.iter().find(|place| configurations[**place] == wanted) {
            return *place;
        }
        places.push(self.indexed);
        configurations.push(wanted);
        self.indexed += 1;
        self.indexed - 1
    }
}

fn hash_configuration(configuration: &NodeConfiguration) -> u64 {
    let mut hasher = DefaultHasher::new();
    configuration.hash(&mut hasher);
    hasher.finish()
}
