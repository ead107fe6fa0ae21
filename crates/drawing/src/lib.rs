//! Draws the graph of a flow: what is on which layer, where it is placed, and the same as SVG and DOT.
//!
//! Pure: a drawing is a function of the nodes. It has a bound whatever the graph is: long graphs and wide layers
//! are drawn with boxes that stand for many nodes, so that a flow of 10,000 is drawn as quickly as one of a
//! hundred.

mod boxes;
mod dot;
mod graph;
mod layout;
mod lines;
mod node;
mod order;
mod places;
mod snapshot;
mod svg;

pub use boxes::{BOXES, Counts};
pub use dot::dot;
pub use graph::Graph;
pub use layout::{Drawing, EDGES};
pub use node::Node;
pub use snapshot::Snapshot;
pub use svg::{Svg, tone};
