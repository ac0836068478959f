//! Names the shared library by the versions that are compatible: before 1.0, those of one minor.

fn main() {
    let part = |name| std::env::var(name).expect("cargo sets it");
    let major = part("CARGO_PKG_VERSION_MAJOR");
    let minor = part("CARGO_PKG_VERSION_MINOR");
    let name = match major.as_str() {
        "0" => format!("libbofuss.so.0.{minor}"),
        major => format!("libbofuss.so.{major}"),
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
}
