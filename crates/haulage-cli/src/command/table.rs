//! `haul table`: rows of tables. It is in Python.

use clap::{Arg, ArgAction, Command};

use crate::grammar::{self, choice, end, group, option, options, place, says, stores, switch};
use crate::value;

const CODES: &str = "  0  all done                    4    not found
  1  rows were refused           5    what arrived is not what was sent
  2  wrong usage                 6    the source changed
  3  credentials or permission   130  interrupted; run it again to resume";
/// Options of stores that no service of tables has.
const OF_OBJECTS: [&str; 4] = ["region", "addressing", "no_sign_request", "requester_pays"];
const FORMATS: [&str; 4] = ["parquet", "arrow", "csv", "jsonl"];
const TABLE: &str = "az-table://NAME, or the URL of a table";

pub(crate) fn command() -> Command {
    grammar::command("table", "Tables: list, export, import, copy, back up, plan keys, serve", |table| {
        let whole = [list(), create(), remove()];
        let moved = [export(), import(), copy(), backup(), restore(), verify()];
        group(table, whole.into_iter().chain(moved).chain([plan(), serve()]))
    })
}

/// Adds what all commands take that move rows, and what stands below.
fn moving(command: Command, examples: &str) -> Command {
    let command = says(command, "json", "Print the result as JSON");
    stores(command, &OF_OBJECTS)
        .mut_arg("endpoint", |arg| arg.help("The service of az-table://: https://host[:port][/account]"))
        .after_help(end(examples, CODES))
}

/// Adds what all commands take that look at tables as a whole, and what stands below.
fn whole(command: Command, examples: &str) -> Command {
    stores(command, &OF_OBJECTS)
        .mut_arg("endpoint", |arg| arg.help("The service of az-table://: https://host[:port][/account]"))
        .after_help(end(
            examples,
            "  0  all done               4    no such table
  1  some of them failed    130  interrupted
  2  wrong usage
  3  credentials or permission",
        ))
}

fn list() -> Command {
    grammar::command("ls", "List the tables of an account", |list| {
        let list = list.arg(
            place("url", "URL", "The account, or a table to look for")
                .required(false)
                .default_value("az-table://"),
        );
        whole(
            list,
            "  haul table ls
  haul table ls \"https://ACCOUNT.table.core.windows.net/?SAS\"",
        )
    })
}

fn several() -> Arg {
    place("tables", "TABLE", TABLE).num_args(1..).action(ArgAction::Append)
}

fn create() -> Command {
    grammar::command("create", "Create tables", |create| {
        whole(create.arg(several()), "  haul table create az-table://stations")
    })
}

fn remove() -> Command {
    grammar::command(
        "rm",
        "Remove tables with all their rows; names are written exactly as they are",
        |remove| {
            let remove =
                remove.args([several(), switch("dry-run", "Show what would be removed, and remove nothing")]);
            whole(
                remove,
                "  haul table rm --dry-run az-table://Stations
  haul table rm az-table://Stations az-table://StationsByelevation",
            )
        },
    )
}

fn format() -> Arg {
    choice("format", &FORMATS, "parquet, arrow, csv or jsonl [default: by the file's name]")
}

fn record() -> Arg {
    option("record", "FILE", "Write a row for every request to FILE, as Parquet")
}

fn at_once(long: &'static str) -> Arg {
    option(long, "N", "At once [default: 16]").value_parser(value::whole(1..=256))
}

fn mode() -> Arg {
    let help = "What to do with rows whose keys exist: replace, merge or insert";
    choice("mode", &["replace", "merge", "insert"], help).default_value("replace")
}

fn export() -> Command {
    let about = "Write the rows of a table to a file: Parquet, Arrow, CSV or lines of JSON";
    grammar::command("export", about, |export| {
        let export = export.args([
            place("table", "TABLE", TABLE),
            place("path", "FILE", "The file; - for standard output"),
            format(),
            option("filter", "FILTER", "Rows, in the service's language: \"elevation gt 300\"").id("rows"),
            option("select", "NAMES", "Properties, separated by commas"),
            at_once("queries"),
            switch("no-index", "Read the table itself, even if an index fits"),
            choice(
                "formulas",
                &["disarm", "keep"],
                "Text in CSV that a spreadsheet would run as a formula: put an apostrophe in front (disarm), or keep it",
            )
            .default_value("disarm"),
            record(),
        ]);
        moving(
            export,
            "  haul table export az-table://stations stations.parquet
  haul table export az-table://stations - --format csv --filter \"elevation gt 300\"",
        )
    })
}

fn import() -> Command {
    let about = "Write the rows of a file to a table; refused rows go to a file, with the reason";
    grammar::command("import", about, |import| {
        let import = import.args([
            place("path", "FILE", "Parquet, Arrow, CSV or lines of JSON"),
            place("table", "TABLE", TABLE),
            format(),
            option("partition-key", "TEMPLATE", "Such as '{station}' [default: its column]"),
            option("row-key", "TEMPLATE", "Such as '{time:reversed}' [default: its column]"),
            mode(),
            options("exclude", "NAMES", "Columns that are not stored, separated by commas"),
            options("index", "COLUMN", "Maintain an index table for this column; may be repeated"),
            switch("create", "Create the table if it does not exist"),
            option("dead-letters", "FILE", "File for refused rows [default: beside FILE]"),
            at_once("transactions"),
            record(),
        ]);
        moving(
            import,
            "  haul table import stations.parquet az-table://stations --create
  haul table import obs.parquet az-table://obs --partition-key '{station}' --row-key '{time:reversed}'

If FILE has no columns PartitionKey and RowKey and no templates are given, keys are chosen from
its data as haul table plan does.",
        )
    })
}

fn copy() -> Command {
    let about = "Copy a table to another one, which is created if it does not exist, and compare both";
    grammar::command("copy", about, |copy| {
        let copy = copy.args([
            place("source", "SOURCE", TABLE),
            place("destination", "DESTINATION", TABLE),
            switch("no-verify", "Do not read both tables again to compare them"),
            mode(),
        ]);
        moving(
            copy,
            "  haul table copy az-table://stations \"https://other.table.core.windows.net/stations?SAS\"",
        )
    })
}

fn backup() -> Command {
    let about = "Write a table to a file, and what it holds to a receipt";
    grammar::command("backup", about, |backup| {
        let backup = backup.args([
            place("table", "TABLE", TABLE),
            place("path", "FILE.parquet", "The file; the receipt is FILE.parquet.receipt.json"),
        ]);
        moving(backup, "  haul table backup az-table://stations stations.parquet")
    })
}

fn restore() -> Command {
    let about =
        "Write a backup to a table, which is created if it does not exist, and prove that it is there";
    grammar::command("restore", about, |restore| {
        let restore = restore.args([
            place("path", "FILE.parquet", "The backup, or its receipt, which is compared with it first"),
            place("table", "TABLE", TABLE),
            switch("no-verify", "Do not read the table again to compare it"),
        ]);
        moving(restore, "  haul table restore stations.parquet az-table://again")
    })
}

fn verify() -> Command {
    let about = "Compare two of these row by row: tables, files of their rows, or receipts of backups";
    grammar::command("verify", about, |verify| {
        let verify = verify.args([
            place("first", "FIRST", "A table, a file or a receipt"),
            place("second", "SECOND", "What to compare it with"),
        ]);
        moving(
            verify,
            "  haul table verify az-table://stations az-table://again
  haul table verify stations.parquet.receipt.json az-table://stations",
        )
    })
}

fn plan() -> Command {
    let about =
        "Propose PartitionKey and RowKey for the rows of files, and say what they cost; nothing is sent";
    grammar::command("plan", about, |plan| {
        let plan = plan.args([
            place("files", "FILE", "Parquet, CSV or JSON lines: a file, or a folder of them")
                .num_args(1..)
                .action(ArgAction::Append),
            options(
                "query",
                "QUERY",
                "A query that the table will get: columns, and what is asked of them; may be repeated",
            )
            .id("queries"),
            option("table", "NAME", "The table, for the command that is printed").default_value("TABLE"),
            option("partition-key", "TEMPLATE", "Judge these keys instead of proposing some"),
            option("row-key", "TEMPLATE", "The other of them"),
            option("top", "N", "Measure this many choices on all rows, and show them")
                .default_value("3")
                .value_parser(value::whole(1..=100)),
            option("sample", "ROWS", "Rank the choices by this many rows")
                .default_value("50000")
                .value_parser(value::whole(1000..=u64::MAX)),
            option("draws", "N", "Judge each query with this many sets of values from the rows")
                .default_value("8")
                .value_parser(value::whole(1..=100)),
            option("seed", "N", "Seed of the sample and the draws")
                .default_value("0")
                .value_parser(value::whole(0..=u64::MAX)),
            option("memory", "SIZE", "Use at most this much memory; the rest goes to a temporary folder")
                .default_value("512MiB"),
            option("plot", "FILE", "Draw the spread: .html, .png or .svg").id("plot_file"),
        ]);
        says(plan, "json", "Print one object of JSON").after_help(end(
            "  haul table plan obs.parquet                                       keys for what is usually asked
  haul table plan obs.parquet --query 'station = ? and time between ? and ?'
  haul table plan obs.parquet --query 'station, time within 7d *10' --query 'id'
  haul table plan obs.parquet --query 'station order by time desc limit 1'
  haul table plan obs.parquet --partition-key '{station}' --row-key '{time:reversed}'
  haul table plan events/ --json                                    for machines",
            "  0  keys that keep all rows are proposed      4    no such file
  1  no choice keeps all rows, or a file       5    a file is damaged
     could not be read or written              130  interrupted
  2  wrong usage
  3  a file may not be read",
        ))
    })
}

fn serve() -> Command {
    let about = "Serve rows of tables and Parquet files over HTTP, to read: to browsers, notebooks, curl";
    grammar::command("serve", about, |serve| {
        let serve = serve.args([
            place(
                "sources",
                "SOURCE",
                "az-table://TABLE, the URL of a table, or a Parquet file: a path, az://container/file.parquet or \
                 s3://bucket/file.parquet; NAME=SOURCE gives it another name",
            )
            .num_args(1..)
            .action(ArgAction::Append),
            option("listen", "ADDR", "Address and port; port 0 selects a free one").default_value("127.0.0.1:8484"),
            option(
                "token",
                "TOKEN",
                "Token that clients need to read rows; none: all may; overrides HAULAGE_TABLE_TOKEN. Default on this \
                 machine: auto, a new one",
            ),
            options(
                "allow-origin",
                "ORIGIN",
                "Allow pages from this origin to read answers, such as https://maps.example.org; * for all; may be \
                 repeated",
            )
            .id("origins"),
            option("timeout", "DURATION", "Time for the store to send a page, and for a client to receive a piece")
                .default_value("30s")
                .value_parser(value::seconds),
            option("max-rows", "N", "Limit for one answer [default: none]").value_parser(value::whole(1..=u64::MAX)),
            option("max-bytes", "SIZE", "Limit for one answer [default: none]").value_parser(value::bytes),
            option("max-streams", "N", "Answers with all rows at the same time")
                .default_value("8")
                .value_parser(value::whole(1..=u64::MAX)),
            option("max-sorted", "N", "Rows that can be collected for sorting")
                .default_value("1000000")
                .value_parser(value::whole(1..=u64::MAX)),
            switch("no-index", "Read tables themselves, even if an index fits"),
            switch("no-compress", "Do not compress answers, for measurements"),
        ]);
        stores(says(serve, "json", "Print the address as a line of JSON"), &[]).after_help(end(
            "  haul table serve az-table://Stations
  haul table serve stations.parquet az://climate/grid.parquet
  haul table serve near=az://climate/a.parquet --listen 127.0.0.1:8080 --token none
  haul table serve az-table://Stations --allow-origin https://maps.example.org

  curl -H 'Accept: text/csv' 'http://127.0.0.1:8484/tables/Stations/rows?$filter=elevation%20gt%20300&token=TOKEN'
  curl 'http://127.0.0.1:8484/tables/Stations/all?format=arrow&token=TOKEN' > stations.arrows

Ctrl-C stops it.",
            "  0  stopped        3    credentials or permission
  1  address taken  4    not found
  2  wrong usage    130  interrupted before it served",
        ))
    })
}
