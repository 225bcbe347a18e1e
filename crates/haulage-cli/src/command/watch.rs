//! `haul watch`: shows jobs while they run. It is in Python.

use clap::Command;

use crate::grammar::{self, end, option, options, place, says, stores, switch};
use crate::value;

pub(crate) fn command() -> Command {
    let about = "Show running jobs on this and other machines, or replay finished ones";
    grammar::command("watch", about, |watch| {
        let watch = watch.args([
            place(
                "source",
                "LOG|FILE|QUEUE",
                "A log that jobs write to: a folder, az://container/prefix or s3://bucket/prefix; or a file with the \
                 lines of haul cp --json, - for standard input; or queue://NAME or the URL of a queue that a log is \
                 sent to",
            )
            .required(false),
            option("job", "JOB", "Watch this job only"),
            switch("all", "Watch all jobs of the log, however old they are").id("everything"),
            switch("once", "Print the current state and exit"),
            switch("follow", "Keep running after all jobs have ended"),
            option("csv", "FILE", "Write outcomes, errors, warnings and log lines as CSV").id("csv_file"),
            option("parquet", "FILE", "The same as Parquet; the file is complete at the end"),
            switch("web", "Also serve a web page, on this machine only; prints its address"),
            option("port", "N", "Port of the page [default: a free one]").value_parser(value::whole(0..=65535)),
            options("queue", "QUEUE", "Show the number of messages in this queue; may be repeated").id("queues"),
            option("scheduler", "ADDRESS", "Show workers and tasks of the Dask scheduler at this address"),
            option("scheduler-file", "FILE", "The same, for the scheduler that wrote this file"),
            option("doorbell", "QUEUE", "Read LOG when a message arrives, and less often otherwise"),
            option("send", "QUEUE", "Also send new lines of LOG to this queue"),
            switch("consume", "Receive and delete messages, instead of peeking at them"),
            option("record", "FILE", "Replay a finished job from the record of haul cp --record"),
            option("speed", "N", "Speed of the replay; 0: without waiting")
                .default_value("1")
                .value_parser(value::number("write a number from 0 to 1000000", |speed| (0.0..=1e6).contains(&speed))),
        ]);
        let watch = says(watch, "json", "Write a line of JSON each second, or one with --once");
        let watch = says(watch, "quiet", "Show nothing; for --csv, --parquet and --web");
        stores(watch, &[]).after_help(end(
            "  haul watch az://logs/jobs                  the jobs that write to this log, while they run
  haul watch az://logs/jobs --web            the same as a page in the browser
  haul watch az://logs/jobs --once           what is known now
  haul watch az://logs/jobs --csv rows.csv   keep every outcome, error and log line
  haul cp data/ az://c/ --json | haul watch -
  haul watch --record run.parquet --speed 60 a finished job again, a minute in a second
  haul watch --scheduler tcp://head:8786     workers and tasks of a Dask scheduler
  haul watch az://logs/jobs --queue work     the jobs, and how much is left in a queue
  haul watch az://logs/jobs --send bell -q   have a queue ring, with the lines in its messages
  haul watch queue://bell                    the same jobs from its messages

It exits when all jobs have ended.",
            "  0  all ended well, or still run with --once   3    credentials or permission
  1  a job or a worker failed, is silent or     4    no such log, with --once
     lost; or a file could not be written       5    the record is damaged
  2  wrong usage                                130  interrupted",
        ))
    })
}
