//! The page of a run in a real browser: nothing is logged, and nothing is wider than the window.
//!
//! Without a Chromium this says so and passes; `cargo xtask test` installs one where it may.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::folder;

const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "headless_shell"];

/// Learning with a budget of one's own, claims, repetitions, fairness and a long name.
const PLAN: &str = r#"name = "a-page-with-a-rather-long-name-that-has-to-fit-on-a-telephone"
seed = 1

[network]
nodes = 6
topology = { family = "ring" }
schedule = "fixed"
weights = "metropolis"

[data]
source = "census"
bias = 0.3
records = 800
holdout = 200
split = "even"

[model]
kind = "logistic"
intercept = true

[algorithm]
name = "dp2-sgd"
step = 0.2
batch = 10
sampling = "poisson"

[privacy]
epsilon = 2.0
delta = 1e-5
clip = 1.0
noise = "sound"
[[privacy.node]]
node = 2
epsilon = 0.5
delta = 1e-5

[run]
rounds = 20
precision = "f64"
repeat = 2

[evaluate]
metrics = ["loss", "accuracy", "risk-difference"]
every = 2

[[vary]]
key = "privacy.noise"
values = ["sound", "paper"]

[[expected]]
metric = "accuracy"
min = 0.1
why = "a guess is right more often"
"#;

/// Put at the end of the page: says how wide it is to whoever shows it.
const PROBE: &str = "<script>parent.postMessage([document.documentElement.scrollWidth, \
    innerWidth].join(' of '), '*')</script></body>";

/// Shows the page on a telephone and on a wide screen, side by side, for a browser's window cannot
/// be as narrow as that; and writes down what the pages say.
const SCREENS: &str = "<!DOCTYPE html><title>-</title>\
    <body style=\"display:flex;margin:0\"><script>\
    addEventListener('message', event => { document.title += ' ' + event.data + ';' })</script>\
    <iframe src=\"probe.html\" style=\"border:0;width:400px;height:6000px\"></iframe>\
    <iframe src=\"probe.html\" style=\"border:0;width:1600px;height:6000px\"></iframe>";

#[test]
fn a_page_fits_every_window_and_logs_nothing() {
    let Some(program) = PROGRAMS.into_iter().find(|program| starts(program)) else {
        println!("skipped: no Chromium here; install one, or run `cargo xtask test`");
        return;
    };
    let folder = folder("browser");
    std::fs::write(folder.join("plan.toml"), PLAN).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_undertone"));
    let run = run.current_dir(&folder).args(["run", "plan.toml", "--quiet"]).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{said}");
    let name = PLAN.split('"').nth(1).unwrap();
    let page = folder.join("undertone-out").join(name).join("report.html");
    let text = std::fs::read_to_string(&page).unwrap();
    let probe = folder.join("probe.html");
    std::fs::write(&probe, text.replace("</body>", PROBE)).unwrap();
    let screens = folder.join("screens.html");
    std::fs::write(&screens, SCREENS).unwrap();
    for theme in ["light", "dark"] {
        let picture = folder.join(format!("{theme}.png"));
        let output = browse(program, &folder, &screens, theme, &picture);
        // The browser tells its own troubles in the same place; what a page logs has a mark.
        let said = String::from_utf8_lossy(&output.stderr);
        let logged: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(output.status.success() && logged.is_empty(), "{theme}: {logged:?}\n{said}");
        let size = std::fs::metadata(&picture).unwrap().len();
        assert!(size > 100_000, "{theme}: a picture of {size} bytes");
        let dom = String::from_utf8_lossy(&output.stdout).into_owned();
        let title = dom.split("<title>").nth(1).unwrap_or_default();
        let title = title.split("</title>").next().unwrap_or_default();
        for width in ["400 of 400;", "1600 of 1600;"] {
            assert!(title.contains(width), "{theme}: {title:?} has no {width:?}");
        }
    }
}

fn starts(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn browse(program: &str, folder: &Path, page: &Path, theme: &str, picture: &Path) -> Output {
    let mut command = Command::new(program);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--hide-scrollbars", "--enable-logging=stderr", "--disable-dev-shm-usage"])
        .args(["--window-size=2000,6000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.join(format!("profile-{theme}")).display()))
        .arg(format!("--screenshot={}", picture.display()));
    if theme == "dark" {
        command.arg("--blink-settings=preferredColorScheme=0");
    }
    command.arg(format!("file://{}", page.display())).output().unwrap()
}
