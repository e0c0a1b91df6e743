//! The `undertone` command: private learning without a server.
//! It contains no logic: it reads flags and files, calls the libraries and prints what they answer.
fn main() {}
