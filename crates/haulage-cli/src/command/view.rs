//! `haul view`: climate data seen where it lies. It is in Python.

use clap::{Arg, Command};

use crate::grammar::{self, choice, end, option, place, says, stores, switch};
use crate::value;

pub(crate) fn command() -> Command {
    let about =
        "View NetCDF files, Zarr stores and rows of tables in the browser, in place, without copying them";
    grammar::command("view", about, |view| {
        let view = view
            .args([
                place("url", "URL", "A container, a prefix, a folder, one file, or a table"),
                switch("open", "Open the page in the browser").id("browser"),
                switch("serve", "Print the address of the files as Zarr, for xarray and other readers"),
                option(
                    "beside",
                    "URL",
                    "Compare with the files of the same names there, such as the local source",
                ),
                option("filter", "EXPR", "Rows of a table or Parquet file to draw, in OData"),
                option("port", "N", "Port of the page [default: a free one]")
                    .value_parser(value::whole(0..=65535)),
            ])
            .args(indexes());
        let view = says(view, "json", "Print the addresses as a line of JSON");
        stores(view, &[]).after_help(end(
            "  haul view az://climate/cmip6/
  haul view s3://public/tas.nc --open
  haul view results/ --serve
  haul view az://climate/run7/ --beside run7/
  haul view az-table://stations --filter \"elevation gt 300\"

Only this machine can ask, with the address that is printed. Nothing is written but what
--index beside asks for. Ctrl-C stops it.",
            "  0  stopped                                    3    credentials or permission
  1  port in use, or the store is unreachable   4    not found
  2  wrong usage                                130  interrupted",
        ))
    })
}

/// Where the indexes of files are kept.
pub(super) fn indexes() -> [Arg; 2] {
    [
        choice(
            "index",
            &["cache", "beside", "none"],
            "Keep indexes in the cache folder, or also beside the files as NAME.haul-index, where haul view finds \
             them: cache, beside or none",
        )
        .id("kept")
        .default_value("cache"),
        switch("no-cache", "The same as --index none"),
    ]
}
