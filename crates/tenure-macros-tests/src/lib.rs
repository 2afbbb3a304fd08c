//! Tests of `#[locked]`. Cargo would build all that the tests of a procedural macro use a second time, apart from the rest
//! of the workspace, if they stood in its own package.
