//! Names the shared library by the version that programs are compiled for: major and minor.

fn main() {
    let part = |name| std::env::var(name).expect("cargo sets it");
    let major = part("CARGO_PKG_VERSION_MAJOR");
    let minor = part("CARGO_PKG_VERSION_MINOR");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libbofuss.so.{major}.{minor}");
}
