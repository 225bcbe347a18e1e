//! `haul why`: explains a record. It is in Python.

use clap::Command;

use crate::grammar::{self, end, option, place, says};

pub(crate) fn command() -> Command {
    let about = "Show where the time of a recorded job went, what limited it, and what would settle it";
    grammar::command("why", about, |why| {
        let why = why
            .arg(place(
                "record",
                "RECORD",
                "A file of haul cp --record, or the lines of haul cp --json; - for standard input",
            ))
            .arg(option("html", "FILE", "Write a page to this file, to open in a browser"));
        says(why, "quiet", "Print only the finding and the experiment").after_help(end(
            "  haul cp data/ az://climate/ --record run.parquet   record a job
  haul why run.parquet                               where its time went, and what limited it
  haul why run.parquet --html why.html               the same as a page
  haul cp data/ az://climate/ --json > run.jsonl     lines of events will do as well
  haul why run.jsonl --json | jq .cause
  ssh node cat run.parquet | haul why -              a record from standard input",
            "  0  explained, also if it is undetermined      4    not found
  1  the page could not be written, or the      5    the record is damaged or cut short
     record may not be read                     130  interrupted
  2  wrong usage, or not a record",
        ))
    })
}
