//! `haul doctor`: what is here and what is missing. It is in Python.

use clap::Command;

use crate::grammar::{self, end, option, place, says, stores, switch};
use crate::value;

pub(crate) fn command() -> Command {
    let about = "Say what is here, what is missing and what to do: this machine, a service, a copy";
    grammar::command("doctor", about, |doctor| {
        let doctor = doctor
            .args([
                place("url", "URL", "Container, bucket, prefix, object or folder").required(false),
                option("job", "SRC", "Check what a copy from SRC to DST needs")
                    .value_names(["SRC", "DST"])
                    .num_args(2),
                switch("write", "Test permissions by writing a tiny object, which is removed again"),
                option("timeout", "DURATION", "Time limit for each check [default: 5s; 30s for a project]")
                    .value_parser(value::seconds),
                option("html", "FILE", "Also write the findings as a page"),
            ])
            .next_help_heading("Projects")
            .args([
                option("project", "FILE", "Compare requirements.txt, pyproject.toml or environment.yml"),
                option("scheduler", "ADDRESS", "Also check each node of this Dask cluster"),
                option("scheduler-file", "FILE", "The same, by the scheduler's file"),
                option("corrected", "FILE", "Write the project's file for what is installed"),
                switch("serve", "Serve a page on this machine to upload a project's file to"),
                option("port", "N", "Port of that page [default: a free one]")
                    .value_parser(value::whole(0..=65535)),
            ]);
        let doctor = says(doctor, "json", "Print all findings as one line of JSON");
        let doctor = says(doctor, "quiet", "Print faults only");
        stores(doctor, &["stall_timeout", "cap"]).after_help(end(
            "  haul doctor                                   what is here
  haul doctor az://climate/cmip6/               whether it can be reached and read
  haul doctor az://climate/cmip6/ --write       and written: a tiny object, removed again
  haul doctor --job az://climate/cmip6/ here/   whether there is room for a copy
  haul doctor s3://archive --html doctor.html   a page to send to an administrator
  haul doctor --project requirements.txt        whether all that a project needs is installed
  haul doctor --serve                           a page to upload such a file to
  haul doctor --project pyproject.toml --scheduler tcp://10.0.0.1:8786 --corrected new.toml
                                                on every node too, and what the file would have to say

If there is a fault, it ends with the code of the copy that it would spoil.",
            "  0  no faults                  4    not found
  1  a copy would fail          5    bytes differ from their checksum
  2  wrong usage                130  interrupted
  3  credentials or permission",
        ))
    })
}
