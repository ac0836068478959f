//! Arrays in memory that programs of the kernel share.

use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

/// A type that the kernel may change at any time.
///
/// # Safety
///
/// All fields are atomic, every bit pattern is a value, and the size is that of the map's values.
pub(crate) unsafe trait Shared {}

/// The values of a mmap-able array map.
#[derive(Debug)]
pub(crate) struct SharedArray<T: Shared> {
    base: NonNull<T>,
    len: usize,
}

// SAFETY: values are only read and changed atomically, wherever that is done, and the mapping is
// not a thread's.
unsafe impl<T: Shared> Send for SharedArray<T> {}
// SAFETY: as above.
unsafe impl<T: Shared> Sync for SharedArray<T> {}

impl<T: Shared> SharedArray<T> {
    /// Maps an array of `len` values.
    ///
    /// Errors: the system's; the array is smaller, for instance.
    pub(crate) fn new(map: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = len * size_of::<T>();
        // SAFETY: asks for new memory; nothing that exists is touched.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: NonNull::new(address.cast()).expect("the kernel does not map the null page"),
            len,
        })
    }
}

impl<T: Shared> Deref for SharedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping has `len` values, lives as long as `self`, begins at a page, and is
        // only changed atomically.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T: Shared> Drop for SharedArray<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is this array's, and nothing that borrows from it outlives it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len * size_of::<T>()) };
    }
}
