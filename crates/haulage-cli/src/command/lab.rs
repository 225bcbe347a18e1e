//! `haul lab`: the laboratory. It is in Python.

use clap::{Arg, Command};

use crate::grammar::{self, choice, end, group, option, options, place, says, switch};
use crate::value;

const CODES: &str = "  0  all done                   4    not found
  1  something failed           5    files or results differ from what they were
  2  wrong usage                130  interrupted; --continue resumes
  3  credentials or permission";

pub(crate) fn command() -> Command {
    grammar::command("lab", "Measure a link, keep every row, and explain what limits it", |lab| {
        let below =
            [generate(), plans(), run(), report(), verify(), rerun(), compare(), profile(), predict()];
        group(lab, below).after_help(end(
            "  haul lab plans                               what can be run
  haul lab run block-upload                    run it on an emulated link, write a report
  haul lab run concurrency --to 'https://A.blob.core.windows.net/c?SAS'  against a real store
  haul lab run --continue runs/block-upload-1  resume after Ctrl-C
  haul lab verify runs/block-upload-1          check every file, make the page again
  haul lab rerun runs/block-upload-1           repeat it, same seed and order, and compare
  haul lab run scale-out --nodes 1,2,4,8       many nodes started together",
            CODES,
        ))
    })
}

fn generate() -> Command {
    grammar::command("generate", "Make files to measure with: seeded, incompressible", |generate| {
        generate
            .args([
                place("directory", "DIRECTORY", "The folder below which they are made"),
                choice(
                    "kind",
                    &["sizes", "tree", "netcdf"],
                    "Files of given sizes (sizes), a tree of small ones (tree), or NetCDF files, few large among many \
                     small (netcdf)",
                )
                .default_value("sizes"),
                options("size", "SIZE", "A size, or the mean of a tree; may be repeated").id("sizes"),
                option("count", "N", "Of each size [50], of a tree [1000], of a set [144]")
                    .value_parser(value::whole(1..=u64::MAX)),
                option("scale", "N", "Multiply every size by this")
                    .default_value("1")
                    .value_parser(value::number("write a number greater than 0", |scale| scale > 0.0)),
                option("seed", "N", "Same seed, same bytes")
                    .default_value("1")
                    .value_parser(value::whole(0..=u64::MAX)),
            ])
            .after_help(end(
                "  haul lab generate data --scale 0.01      the table of 2010, a hundredth of its sizes
  haul lab generate data --size 1MiB --count 100
  haul lab generate data --kind netcdf --scale 0.001   144 files like a climate model's
  haul lab generate data --kind tree --count 10000 --size 20KB

Without --size the sizes are those of the experiment of 2010: 2 KB to 1 GB, 50 of each, 135 GB.",
                CODES,
            ))
    })
}

fn plans() -> Command {
    grammar::command("plans", "List the plans that come with Haulage, or print one", |plans| {
        let plans = plans.arg(place("name", "NAME", "Print the text of this plan").required(false));
        says(plans, "json", "Write a line of JSON for each plan").after_help(end(
            "  haul lab plans
  haul lab plans block-upload > mine.toml   a plan to change",
            CODES,
        ))
    })
}

fn to() -> Arg {
    let help = "Target: emulated:LINK on this machine, packets:LINK for a link of real packets, or a container's URL \
                [default: the plan's]";
    option("to", "URL", help).id("target")
}

fn insecure_http() -> Arg {
    switch("insecure-http", "Allow a target of plain http on another machine")
}

/// A step that is done unless `--no-NAME` says otherwise; `--NAME` is what scripts may say already.
fn step(name: &'static str, not: &'static str, help: &'static str) -> [Arg; 2] {
    [switch(not, help), switch(name, "The opposite, which is the default").overrides_with(not)]
}

fn run() -> Command {
    grammar::command("run", "Run a plan and report on it", |run| {
        run.args([
            place("plan", "PLAN", "The name of a plan, or a TOML file").required(false),
            to(),
            insecure_http(),
            option("continue", "DIR", "Continue this stopped run").id("stopped"),
            option("out", "DIR", "Folder for the run; new or empty [default: runs/PLAN-TIME]"),
            option(
                "from",
                "A,B",
                "Run it from several places: names of the plan's, or NAME=WAY with a link, netns:NAME, \
                 proxy:HOST:PORT or a URL",
            )
            .id("places"),
            option("variant", "NAME", "A variant of the plan"),
            switch("full", "The full-size variant: hours or days. As --variant full"),
            option("replicates", "N", "How often each treatment is run")
                .value_parser(value::whole(1..=u64::MAX)),
            option("seed", "N", "Seed of the order and of the bytes")
                .value_parser(value::whole(0..=u64::MAX)),
            options("size", "SIZE", "Only files of this size; may be repeated").id("sizes"),
            nodes("Numbers of processes to run at once, one after another; 1 is always included"),
            option("scheduler", "ADDRESS", "Run the nodes on the workers of this Dask scheduler"),
            option("scheduler-file", "FILE", "The same, for the scheduler that wrote this file"),
            options("set", "KEY=VALUE", "Replace a key of the plan; may be repeated").id("settings"),
            switch("estimate", "Print what the plan takes, without running it").id("only_estimate"),
            option("profile-name", "NAME", "Save the result of a sweep as a profile with this name"),
        ])
        .args(step("confirm", "no-confirm", "Do not confirm the cause with some seconds of short transfers"))
        .args(step("report", "no-report", "Do not analyse the run and write its page"))
        .after_help(end(
            "  haul lab run block-upload                      about 7 minutes, and a report
  haul lab run block-upload --estimate           only say what it takes
  haul lab run mine.toml --to emulated:rtt=20ms,total=1gbit --out runs/mine
  haul lab run concurrency --to packets:rtt=80ms,total=200mbit,loss=0.1%
  haul lab run concurrency --replicates 3 --size 8MiB --set time_bound=2m
  haul lab run concurrency --to 'https://A.blob.core.windows.net/c?SAS' --profile-name home
  haul lab run failing-link --from here,elsewhere   whose fault is it?
  haul lab run scale-out --nodes 1,2,3,4,6,8     many processes from one moment on
  haul lab run scale-out --scheduler tcp://head:8786     the same on the workers of a Dask cluster
  haul lab run --continue runs/mine              resume a stopped run

Ctrl-C stops at once and keeps what is finished.",
            CODES,
        ))
    })
}

/// Numbers of nodes, separated by commas.
fn nodes(help: &'static str) -> Arg {
    option("nodes", "N,N,...", help).value_delimiter(',').value_parser(value::node_count)
}

fn directory() -> Arg {
    place("directory", "DIRECTORY", "The folder of the run")
}

fn report() -> Command {
    grammar::command("report", "Analyse a run and write its page; print the page's path", |report| {
        report.arg(directory()).after_help(end(
            "  haul lab report runs/mine
  xdg-open $(haul lab report runs/mine)",
            CODES,
        ))
    })
}

fn verify() -> Command {
    let about = "Check every file of a run, and that its results and page follow from what was recorded";
    grammar::command("verify", about, |verify| {
        verify
            .args([
                directory(),
                option("sha256", "HASH", "SHA-256 of SHA256SUMS, from wherever you kept it"),
                switch("quick", "Compare hashes only, make nothing again"),
            ])
            .after_help(end(
                "  haul lab verify runs/mine
  haul lab verify runs/mine --quick              only compare hashes
  haul lab verify runs/mine --sha256 4a31899e…   with the hash of SHA256SUMS that you kept

It ends with 5 if a file is changed, missing or added, or if something comes out otherwise.",
                CODES,
            ))
    })
}

fn rerun() -> Command {
    grammar::command("rerun", "Repeat a run, same plan, seed and order, and compare the two", |rerun| {
        rerun
            .args([
                directory(),
                to(),
                insecure_http(),
                option("out", "DIR", "Where to write [default: beside DIRECTORY, -rerun-N]"),
                switch("estimate", "Print what it takes, without running it").id("only_estimate"),
            ])
            .args(step("compare", "no-compare", "Do not compare them"))
            .after_help(end(
                "  haul lab rerun runs/mine
  haul lab rerun runs/mine --out runs/again --no-compare

A URL with a SAS is needed again with --to: no run keeps a secret.",
                CODES,
            ))
    })
}

fn compare() -> Command {
    let about = "Put two runs side by side: the ratio of each treatment and size, with its interval";
    grammar::command("compare", about, |compare| {
        compare
            .args([place("a", "A", "The folder of a run"), place("b", "B", "The folder of another")])
            .after_help(end("  haul lab compare runs/before runs/after", CODES))
    })
}

fn profile() -> Command {
    let about = "Derive start values for the mover from a sweep; print the file's path";
    grammar::command("profile", about, |profile| {
        profile
            .args([
                directory(),
                option("name", "NAME", "Save it under this name, for haul cp --profile NAME"),
            ])
            .after_help(end(
                "  haul lab profile runs/mine
  haul lab profile runs/mine --name home",
                CODES,
            ))
    })
}

fn predict() -> Command {
    grammar::command("predict", "Predict what more nodes would gain, from a run of scale-out", |predict| {
        predict
            .args([
                directory(),
                nodes("How many").default_value("20,100"),
                option("limit", "RATE", "Rate of the account [default: as found with up to 4 nodes]"),
                option("requests", "N", "Requests a second that the account accepts")
                    .value_parser(value::whole(1..=u64::MAX)),
            ])
            .after_help(end(
                "  haul lab predict runs/scale-out-1                    20 and 100 nodes
  haul lab predict runs/scale-out-1 --nodes 16,32,64
  haul lab predict runs/scale-out-1 --nodes 100 --limit 60gbit --requests 20000

The simulation is calibrated on 1 to 4 nodes of the run, and says how far it is off with the
others.",
                CODES,
            ))
    })
}
