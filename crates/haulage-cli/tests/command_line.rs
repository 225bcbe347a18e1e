//! The real binary on command lines that need no store, each test named by what it covers.

use std::process::{Command, Output, Stdio};

const COMMANDS: [&str; 12] =
    ["cp", "ls", "stat", "du", "rm", "cat", "mb", "rb", "verify", "plan", "emulate", "completion"];

fn haul(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_haul")).args(args).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Runs a command line that is wrong and returns the line it prints.
fn mistake(args: &[&str]) -> String {
    let output = haul(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?} wrote to standard output");
    let line = text(&output.stderr);
    assert_eq!(line.lines().count(), 1, "{args:?}: {line}");
    line.trim_end().to_owned()
}

#[test]
fn every_help_holds_examples_and_exit_codes() {
    for command in COMMANDS {
        let output = haul(&["help", command]);
        let help = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{command}");
        assert!(help.contains("Examples:") && help.contains(&format!("haul {command}")), "{command}");
        assert!(help.contains("Exit codes:") && help.contains("130"), "{command}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}

#[test]
fn haul_alone_prints_help() {
    let output = haul(&[]);
    assert_eq!(output.status.code(), Some(2));
    for command in COMMANDS {
        assert!(text(&output.stderr).contains(&format!("\n  {command} ")), "{command}");
    }
}

#[test]
fn haul_version() {
    assert_eq!(text(&haul(&["--version"]).stdout), concat!("haul ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn cp_block_size_without_unit() {
    assert_eq!(
        mistake(&["cp", "--block-size", "8", "a", "az://c/"]),
        "haul: parse --block-size 8: not a size with a unit (hint: write 8KiB or 8MiB)"
    );
    assert_eq!(
        mistake(&["cp", "--stall-timeout=30", "a", "az://c/"]),
        "haul: parse --stall-timeout 30: not a duration with a unit (hint: write 30s or 30m)"
    );
}

#[test]
fn cp_unknown_choice_option_and_command() {
    assert_eq!(
        mistake(&["cp", "--method", "range", "a", "b"]),
        "haul: parse --method range: not one of auto, whole, ranges (hint: did you mean ranges?)"
    );
    assert_eq!(
        mistake(&["cp", "--blok-size", "8MiB", "a", "b"]),
        "haul: parse --blok-size: no such option (hint: did you mean --block-size?)"
    );
    assert_eq!(
        mistake(&["verfy", "a", "b"]),
        "haul: parse verfy: no such command (hint: did you mean verify?)"
    );
    assert_eq!(
        mistake(&["xyz", "a", "b"]),
        "haul: parse xyz: no such command (hint: haul --help lists the commands)"
    );
}

#[test]
fn cp_without_destination() {
    assert_eq!(mistake(&["cp", "a"]), "haul: parse DST: missing (hint: haul cp --help shows examples)");
    assert_eq!(
        mistake(&["cp", "--cap"]),
        "haul: parse --cap: needs a value (hint: haul cp --help shows examples)"
    );
}

#[test]
fn mistakes_never_show_a_signature() {
    let output = haul(&["ls", "https://h/c?sig=secret", "https://h/c?sig=secret"]);
    assert!(!text(&output.stderr).contains("secret"), "{}", text(&output.stderr));
}

#[test]
fn with_json_a_mistake_is_an_event_too() {
    let output = haul(&["cp", "--json", "--block-size", "8", "a", "b"]);
    assert_eq!(output.status.code(), Some(2));
    let event: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON line");
    assert_eq!(event["event"], "error");
    assert_eq!(event["kind"], "usage");
    assert_eq!(event["exit_code"], 2);
    assert_eq!(event["hint"], "write 8KiB or 8MiB");
    assert!(text(&output.stderr).starts_with("haul: parse --block-size 8: "));
}

#[test]
fn cp_json_to_standard_output_is_refused() {
    let output = haul(&["cp", "--json", "az://c/a", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--record"), "{}", text(&output.stderr));
}

#[test]
fn completion_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = haul(&["completion", shell]);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        assert!(text(&output.stdout).contains("block-size"), "{shell}");
    }
}

#[test]
fn completion_into_a_closed_pipe() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_haul"))
        .args(["completion", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn emulate_beyond_this_machine() {
    assert_eq!(
        mistake(&["emulate", "--listen", "0.0.0.0:0"]),
        "haul: listen 0.0.0.0:0: other machines could reach it, and its key is public knowledge \
         (hint: add --allow-remote if you want that)"
    );
    assert_eq!(
        mistake(&["emulate", "--listen", "10000"]),
        "haul: parse --listen 10000: not an address and a port (hint: write 127.0.0.1:10000, or port 0 for any free one)"
    );
}

#[test]
fn metrics_are_served_at_an_address() {
    assert_eq!(
        mistake(&["cp", "a", "b", "--metrics", "9400"]),
        "haul: parse --metrics 9400: not an address and a port (hint: write one such as 127.0.0.1:9400)"
    );
}

#[test]
fn nodes_need_the_python_package() {
    assert_eq!(
        mistake(&["cp", "Cargo.toml", "build/nowhere", "--nodes", "2"]),
        "haul: run nodes: this needs the Python package \
         (hint: in a virtual environment, run pip install \"$(echo ./haulage-*.whl)[cluster]\" in the folder of the wheel, \
         and use the haul that it installs)"
    );
}

#[test]
fn lab_needs_the_python_package() {
    assert_eq!(
        mistake(&["lab", "run", "--to", "emulated:wan"]),
        "haul: start lab run: this needs the Python package \
         (hint: in a virtual environment, run pip install \"$(echo ./haulage-*.whl)[lab]\" in the folder of the wheel, \
         and use the haul that it installs)"
    );
    assert!(text(&haul(&["--help"]).stdout).contains("\n  lab "));
}

#[test]
fn watch_needs_the_python_package() {
    assert_eq!(
        mistake(&["watch", "az://logs/jobs"]),
        "haul: start watch: this needs the Python package \
         (hint: in a virtual environment, run pip install \"$(echo ./haulage-*.whl)[watch]\" in the folder of the wheel, \
         and use the haul that it installs)"
    );
    assert!(text(&haul(&["--help"]).stdout).contains("\n  watch "));
}

#[test]
fn help_of_commands_in_python_needs_no_python() {
    for line in [&["lab", "--help"][..], &["help", "lab"], &["lab", "run", "--help"], &["help", "lab", "run"]]
    {
        let output = haul(line);
        assert_eq!(output.status.code(), Some(0), "{line:?}");
        let help = text(&output.stdout);
        let name = if line.contains(&"run") { "haul lab run" } else { "haul lab" };
        assert!(help.contains(&format!("Usage: {name} ")), "{line:?}: {help}");
        let end =
            format!("{name} comes with the Python package: pip install \"$(echo ./haulage-*.whl)[lab]\"");
        assert!(help.trim_end().ends_with(&end), "{line:?}: {help}");
    }
    assert!(text(&haul(&["table", "export", "--help"]).stdout).contains("*.whl)[tables]\""));
}

#[test]
fn completion_knows_the_commands_in_python() {
    for shell in ["bash", "zsh", "fish"] {
        let script = haul(&["completion", shell]);
        let script = text(&script.stdout);
        for option in ["replicates", "corrected", "doorbell"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
}
