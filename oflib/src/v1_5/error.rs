//! The errors of 1.5. Spec: OpenFlow 1.5.1 section 7.5.4.14.

use super::V1_5;
use crate::error::{DecodeError, ErrorCode};
use crate::forms::Form;
use crate::v1_3::session::write_code;
use crate::v1_4::V1_4;
use crate::v1_4::error::newer;
use crate::wire::{Reader, Writer};

impl Form<V1_5> for ErrorCode {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        <Self as Form<V1_4>>::read(r)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_code(newer(*self), w);
    }
}
