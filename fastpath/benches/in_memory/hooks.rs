//! The cost of a hook for packets of cached flows that pass through its table, by its effect.

use bofuss_datapath::{Hook, HookContext, HookEffect, Verdict};
use bofuss_oflib::Field;
use bofuss_oflib::field::{IPV4_DST, METADATA, TUNNEL_ID};
use bofuss_oflib::types::TableId;

/// A hook that acts in table 2 according to its effect.
struct Acts(HookEffect, u64);

impl Hook for Acts {
    fn name(&self) -> &'static str {
        "acts"
    }
    fn effect(&self, table: TableId) -> HookEffect {
        if table == TableId(2) {
            self.0
        } else {
            HookEffect::None
        }
    }
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        self.1 += 1;
        let field: &'static Field = TUNNEL_ID;
        match self.0 {
            HookEffect::Pure => {
                let to = cx.get(IPV4_DST).unwrap_or(0);
                cx.set(field, to & 1);
            }
            HookEffect::Branch => cx.set(field, u128::from(self.1 & 1)),
            HookEffect::None | HookEffect::Live | HookEffect::Unknown => {
                let _ = cx.get(METADATA);
            }
        }
        Verdict::Continue
    }
}

/// Each effect, with a hook of that effect.
pub fn all() -> impl Iterator<Item = (HookEffect, Box<dyn Hook>)> {
    let effects = [
        HookEffect::None,
        HookEffect::Pure,
        HookEffect::Live,
        HookEffect::Branch,
        HookEffect::Unknown,
    ];
    effects
        .into_iter()
        .map(|effect| -> (HookEffect, Box<dyn Hook>) { (effect, Box::new(Acts(effect, 0))) })
}
