//! Tests of what programs compute: arithmetic, comparisons, atomic operations.

use super::{EXIT, constant, ran, slot};

#[test]
fn arithmetic_is_that_of_the_specification() {
    let high = 0xffff_ffff_0000_0000;
    // The code of the operation, both operands, and the results of 64 and of 32 bits.
    for (code, a, b, of_64, of_32) in [
        (0x00, u64::MAX, 2, 1, 1),
        (0x10, 1, 2, u64::MAX, 0xffff_ffff),
        (0x20, 1 << 32 | 3, 5, 5 << 32 | 15, 15),
        (0x30, 7, 2, 3, 3),
        (0x30, 7, 0, 0, 0),
        (0x30, 5, 1 << 32, 0, 0),
        (0x30, u64::MAX, 2, u64::MAX >> 1, 0x7fff_ffff),
        (0x40, 5, 10, 15, 15),
        (0x50, 13, 7, 5, 5),
        (0x60, 1, 33, 1 << 33, 2),
        (0x60, 1, 65, 2, 2),
        (0x70, high, 31, 0x1_ffff_fffe, 0),
        (0x80, 1, 0, u64::MAX, 0xffff_ffff),
        (0x90, 7, 4, 3, 3),
        (0x90, 7, 0, 7, 7),
        (0x90, high | 7, 0, high | 7, 7),
        (0xa0, 5, 1, 4, 4),
        (0xb0, 5, high, high, 0),
        (0xc0, high, 4, 0xffff_ffff_f000_0000, 0),
        (0xc0, 0x8000_0000, 31, 1, 0xffff_ffff),
    ] {
        for (class, wanted) in [(7, of_64), (4, of_32)] {
            let [a0, a1] = constant(0, 0, a);
            let [b0, b1] = constant(2, 0, b);
            // The negative has no second operand.
            let source = if code == 0x80 { 0 } else { 0x08 };
            let slots = [
                a0,
                a1,
                b0,
                b1,
                slot(code | source | class, 0, 2, 0, 0),
                EXIT,
            ];
            assert_eq!(
                ran(&slots, &[]),
                Ok(wanted),
                "{code:#x} {class} {a:#x} {b:#x}"
            );
        }
    }
    // Constants are extended by their sign, and the result of 32 bits by zeros.
    assert_eq!(ran(&[slot(0xb7, 0, 0, 0, -1), EXIT], &[]), Ok(u64::MAX));
    assert_eq!(ran(&[slot(0xb4, 0, 0, 0, -1), EXIT], &[]), Ok(0xffff_ffff));
    for (opcode, bits, wanted) in [
        (0xd4, 16, 0x7788),
        (0xdc, 16, 0x8877),
        (0xdc, 32, 0x8877_6655),
        (0xdc, 64, 0x8877_6655_4433_2211),
        (0xd7, 16, 0x8877),
        (0xd7, 64, 0x8877_6655_4433_2211),
    ] {
        let [a0, a1] = constant(0, 0, 0x1122_3344_5566_7788);
        let slots = [a0, a1, slot(opcode, 0, 0, 0, bits), EXIT];
        assert_eq!(ran(&slots, &[]), Ok(wanted), "{opcode:#x} {bits}");
    }
}

#[test]
fn an_offset_makes_arithmetic_signed() {
    let minus = |n: i64| -n as u64;
    let low = i64::from(i32::MIN) as u64;
    for (opcode, offset, a, b, wanted) in [
        (0x3f, 1, minus(7), 2, minus(3)),
        (0x9f, 1, minus(7), 2, minus(1)),
        (0x3f, 1, i64::MIN as u64, minus(1), i64::MIN as u64),
        (0x9f, 1, i64::MIN as u64, minus(1), 0),
        (0x3f, 1, minus(7), 0, 0),
        (0x9f, 1, minus(7), 0, minus(7)),
        (0x3c, 1, minus(7), 2, 0xffff_fffd),
        (0x3c, 1, low, minus(1), 0x8000_0000),
        (0x9c, 1, low, minus(1), 0),
        (0x9c, 1, minus(7), 0, 0xffff_fff9),
        (0xbf, 8, 0, 0x180, minus(0x80)),
        (0xbf, 16, 0, 0x18000, minus(0x8000)),
        (0xbf, 32, 0, 0x1_8000_0000, low),
        (0xbc, 8, 0, 0x180, 0xffff_ff80),
        (0xbc, 16, 0, 0x17fff, 0x7fff),
    ] {
        let [a0, a1] = constant(0, 0, a);
        let [b0, b1] = constant(2, 0, b);
        let slots = [a0, a1, b0, b1, slot(opcode, 0, 2, offset, 0), EXIT];
        assert_eq!(ran(&slots, &[]), Ok(wanted), "{opcode:#x} {offset} {a:#x}");
    }
    // Loads that keep the sign, and a jump by a constant.
    for (opcode, wanted) in [(0x91, minus(2)), (0x89, minus(2)), (0x81, minus(2))] {
        let slots = [slot(0x7a, 10, 0, -8, -2), slot(opcode, 0, 10, -8, 0), EXIT];
        assert_eq!(ran(&slots, &[]), Ok(wanted), "{opcode:#x}");
    }
    let far = [slot(0x06, 0, 0, 0, 1), EXIT, slot(0xb7, 0, 0, 0, 9), EXIT];
    assert_eq!(ran(&far, &[]), Ok(9));
}

#[test]
fn comparisons_are_those_of_the_specification() {
    let minus = u64::MAX;
    // The codes of the comparisons that hold, of 64 bits and of 32.
    let cases: [(u64, u64, &[u8], &[u8]); 4] = [
        (
            1,
            1,
            &[0x1, 0x3, 0x4, 0x7, 0xb, 0xd],
            &[0x1, 0x3, 0x4, 0x7, 0xb, 0xd],
        ),
        (
            minus,
            2,
            &[0x2, 0x3, 0x4, 0x5, 0xc, 0xd],
            &[0x2, 0x3, 0x4, 0x5, 0xc, 0xd],
        ),
        (4, 2, &[0x2, 0x3, 0x5, 0x6, 0x7], &[0x2, 0x3, 0x5, 0x6, 0x7]),
        (
            1 << 32,
            0,
            &[0x2, 0x3, 0x5, 0x6, 0x7],
            &[0x1, 0x3, 0x7, 0xb, 0xd],
        ),
    ];
    for (a, b, of_64, of_32) in cases {
        for (class, holding) in [(5, of_64), (6, of_32)] {
            for code in [0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0xa, 0xb, 0xc, 0xd] {
                let [a0, a1] = constant(3, 0, a);
                let [b0, b1] = constant(4, 0, b);
                let jump = slot(code << 4 | 0x08 | class, 3, 4, 1, 0);
                let one = slot(0xb7, 0, 0, 0, 1);
                let slots = [a0, a1, b0, b1, one, jump, slot(0xb7, 0, 0, 0, 0), EXIT];
                let wanted = u64::from(holding.contains(&code));
                assert_eq!(
                    ran(&slots, &[]),
                    Ok(wanted),
                    "{code:#x} {class} {a:#x} {b:#x}"
                );
            }
        }
    }
}

#[test]
fn atomic_operations_give_what_was_there() {
    let [a0, a1] = constant(2, 0, 0xf_0000_0003);
    let run = |imm, opcode| {
        let before = slot(0x7a, 10, 0, -8, 6);
        let expect = slot(0xb7, 0, 0, 0, 6);
        let atomic = slot(opcode, 10, 2, -8, imm);
        let after = slot(0x79, 3, 10, -8, 0);
        let join = [
            slot(0x67, 2, 0, 0, 32),
            slot(0x4f, 0, 2, 0, 0),
            slot(0x4f, 0, 3, 0, 0),
        ];
        // All in one number: what was there above, what is there below, in 32 bits.
        let slots = [&[before, a0, a1, expect, atomic, after][..], &join, &[EXIT]].concat();
        ran(&slots, &[])
    };
    assert_eq!(run(0x01, 0xc3), Ok(6 << 32 | 9 | 6), "add and fetch");
    assert_eq!(run(0x41, 0xc3), Ok(6 << 32 | 7), "or and fetch");
    assert_eq!(run(0x51, 0xc3), Ok(6 << 32 | 2 | 6), "and and fetch");
    assert_eq!(run(0xa1, 0xc3), Ok(6 << 32 | 5 | 6), "xor and fetch");
    assert_eq!(run(0xe1, 0xc3), Ok(6 << 32 | 3 | 6), "exchange");
    assert_eq!(run(0xf1, 0xc3), Ok(3 << 32 | 3 | 6), "exchange if equal");
    assert_eq!(run(0x00, 0xc3), Ok(3 << 32 | 9 | 6), "add");
    assert_eq!(
        run(0xe1, 0xdb),
        Ok(6 << 32 | 0xf_0000_0003 | 6),
        "of 64 bits"
    );
    // An exchange of 32 bits compares the low half, and what it gives has zeros above.
    let [r0, r0_upper] = constant(0, 0, 1 << 32 | 6);
    let exchange = slot(0xc3, 10, 2, -8, 0xf1);
    let slots = [slot(0x7a, 10, 0, -8, 6), r0, r0_upper, exchange, EXIT];
    assert_eq!(ran(&slots, &[]), Ok(6));
}
