//! Names the shared library by the version that programs are compiled for: major and minor.

fn main() {
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets it");
    let minor = std::env::var("CARGO_PKG_VERSION_MINOR").expect("cargo sets it");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbofuss.so.{major}.{minor}");
}
