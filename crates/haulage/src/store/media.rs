//! Media types by the ending of a name.

/// What browsers and climate tools look at. Everything else is bytes.
const BY_ENDING: [(&str, &str); 26] = [
    ("bz2", "application/x-bzip2"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("geojson", "application/geo+json"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("h5", "application/x-hdf5"),
    ("hdf5", "application/x-hdf5"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", "text/markdown"),
    ("nc", "application/netcdf"),
    ("nc4", "application/netcdf"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// The parts of a Zarr store that are JSON without saying so.
const ZARR_JSON: [&str; 4] = [".zarray", ".zattrs", ".zgroup", ".zmetadata"];

/// The media type for a name.
pub(super) fn content_type(key: &str) -> &'static str {
    let name = key.rsplit('/').next().unwrap_or(key);
    if ZARR_JSON.contains(&name) {
        return "application/json";
    }
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let known = BY_ENDING.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending));
    known.map_or("application/octet-stream", |(_, media)| media)
}

#[cfg(test)]
mod tests {
    use super::content_type;

    #[test]
    fn endings_tell_the_type() {
        for (name, media) in [
            ("a/b.nc", "application/netcdf"),
            ("B.NC", "application/netcdf"),
            ("store.zarr/.zattrs", "application/json"),
            ("store.zarr/zarr.json", "application/json"),
            ("store.zarr/0.0", "application/octet-stream"),
            ("x.grib", "application/octet-stream"),
            ("dir.txt/none", "application/octet-stream"),
            ("index.html", "text/html"),
        ] {
            assert_eq!(content_type(name), media, "{name}");
        }
    }
}
