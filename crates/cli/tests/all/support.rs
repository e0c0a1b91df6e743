//! Starting the program, and reading what it says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder for one test, emptied before.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Whatever comes of it.
pub(crate) fn undertone(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undertone"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

/// What a command that succeeds prints.
pub(crate) fn text(folder: &Path, arguments: &[&str]) -> String {
    let output = undertone(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same, where that is JSON.
pub(crate) fn json(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(folder, arguments)).unwrap()
}

/// Exit code 2, nothing on standard output, and a message with the given words.
pub(crate) fn refused(folder: &Path, arguments: &[&str], words: &[&str]) {
    let output = undertone(folder, arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert!(!message.contains("panicked"), "{arguments:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{arguments:?}: no {word:?} in {message}");
    }
}
