//! BTreeMaps: the model for tests, docs and simulation.
