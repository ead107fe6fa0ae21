//! TLS, through a proxy that speaks it before a server that does not.
