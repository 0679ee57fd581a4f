//! QUIC links, identities on disk, and links made worse on purpose.
