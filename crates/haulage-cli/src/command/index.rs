//! `haul index`: where the chunks of NetCDF files lie. It is in Python.

use clap::Command;

use super::view::indexes;
use crate::grammar::{self, end, option, place, says, stores};

pub(crate) fn command() -> Command {
    let about =
        "Write references to the chunks of NetCDF files and Zarr stores, which kerchunk and xarray read";
    grammar::command("index", about, |index| {
        let index = index
            .args([
                place("url", "URL", "One file or store; with --out also a container, a prefix or a folder"),
                option(
                    "out",
                    "FOLDER",
                    "Write NAME.json for each file to this folder [default: standard output]",
                ),
                option("as-url", "URL", "URL of the file in the references, for one file"),
            ])
            .args(indexes());
        let index = says(index, "json", "With --out, print a line of JSON for each file written");
        stores(index, &[]).after_help(end(
            "  haul index az://climate/tas.nc > tas.json
  haul index az://climate/cmip6/ --out references
  haul index az://climate/tas.zarr/ > tas.json
  haul index az://climate/cmip6/ --index beside

Only what describes the files is read.",
            "  0  all done                   4    not found
  1  a file cannot be read      5    a file is damaged
  2  wrong usage                6    a file changed while it was read
  3  credentials or permission  130  interrupted",
        ))
    })
}
