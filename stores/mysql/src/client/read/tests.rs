#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use super::{super::bits::CACHE_METADATA, *};

/// Of MariaDB 10.11.
const GREETING: &[u8] = b"\x0a5.5.5-10.11.6-MariaDB\0\x07\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x3d\0\0\0ijklmnopqrst\0mysql_native_password\0";

#[test]
fn a_greeting_is_read_and_one_that_is_cut_or_changed_is_an_error_at_worst() {
    let greeting = Greeting::read(GREETING).unwrap();
    assert_eq!(greeting.nonce, b"abcdefghijklmnopqrst");
    assert_eq!(greeting.plugin, "mysql_native_password");
    assert!(greeting.capabilities & can::DEPRECATE_EOF != 0);
    assert!(greeting.extended & CACHE_METADATA != 0);
    for at in 0..GREETING.len() {
        let _ = Greeting::read(&GREETING[..at]);
        for byte in 0..=u8::MAX {
            let mut bytes = GREETING.to_vec();
            bytes[at] = byte;
            let _ = Greeting::read(&bytes);
        }
    }
}

#[test]
fn a_header_names_no_more_columns_than_a_statement_asks_for() {
    assert!(matches!(ColumnSource::read(&[3], None), Ok(ColumnSource::Follow(3))));
    let column = Column { kind: 8, is_unsigned: false };
    let prepared: Arc<[Column]> = [column; 3].into();
    assert!(matches!(ColumnSource::read(&[3, 0], Some(&prepared)), Ok(ColumnSource::AsBefore)));
    assert!(matches!(ColumnSource::read(&[3, 1], Some(&prepared)), Ok(ColumnSource::Follow(3))));
    for bad in [
        &b"\xfe\0\0\0\x80\0\0\0\0"[..],
        b"\xfe\0\0\0\0\0\0\0\x80",
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xfb/etc/passwd",
        b"\xff",
        b"\x03\0",
        b"",
    ] {
        assert!(ColumnSource::read(bad, None).is_err(), "{bad:?}");
    }
}

#[test]
fn values_of_each_type_are_read_and_none_that_is_cut() {
    let columns = |kinds: &[u8]| -> Vec<_> {
        kinds.iter().map(|&kind| Column { kind, is_unsigned: kind == 0x03 }).collect()
    };
    let columns = columns(&[0x01, 0x02, 0x03, 0x08, 0xfd, 0x05, 0x08]);
    let mut packet = vec![0, 0, 1, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff];
    packet.extend((-7_i64).to_le_bytes());
    packet.extend(b"\x02ab");
    packet.extend(1.5_f64.to_le_bytes());
    let row = Row::of_prepared(&packet, &columns).unwrap();
    let expected = [
        Value::Int(-1),
        Value::Int(-2),
        Value::UInt(0xffff_ffff),
        Value::Int(-7),
        Value::Bytes(b"ab".to_vec()),
        Value::Double(1.5),
        Value::Null,
    ];
    assert_eq!(row.0, expected);
    for at in 0..packet.len() {
        assert!(Row::of_prepared(&packet[..at], &columns).is_err(), "{at}");
    }
    for kind in 0..=u8::MAX {
        let _ = Row::of_prepared(&packet, &[Column { kind, is_unsigned: false }]);
    }
    let texts = Row::of_text(b"\x0212\xfb", &columns[..2]).unwrap();
    assert_eq!(texts.0, [Value::Bytes(b"12".to_vec()), Value::Null]);
    assert!(Row::of_text(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffa", &columns[..1]).is_err());
}

#[test]
fn a_refusal_is_read_with_and_without_a_state() {
    let said = |packet: &[u8]| match refusal(packet) {
        Some(Ok(Error::Server(said))) => (said.code, said.message),
        other => panic!("{other:?}"),
    };
    assert_eq!(said(b"\xff\x15\x04#28000no"), (1045, "no".to_owned()));
    assert_eq!(said(b"\xff\x10\x04too many"), (1040, "too many".to_owned()));
    assert_eq!(said(&[&b"\xff\x15\x04"[..], &[b'x'; 70_000]].concat()).1.len(), MOST_OF_TEXT);
    assert!(refusal(b"\xff\x15").unwrap().is_err());
    assert!(refusal(b"\0").is_none());
}

#[test]
fn any_packet_is_read_or_refused() {
    let column = b"\x03def\0\0\0\x01x\0\x0c\x3f\0\xff\0\0\0\xfd\0\0\0\0\0";
    let statement = [0, 1, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0];
    let row = b"\0\0\xff\x02ab\x01\0\0\0\0\0\0\0\x03";
    let word = [1, 0xfc, 2, 3, 2, 0, 0, 0];
    let examples =
        [GREETING, column, &statement, row, &word, b"\xff\x15\x04#28000no", b"\xfc\xff\0\x01"];
    let columns = [0xfd, 0x08, 0x01].map(|kind| Column { kind, is_unsigned: false });
    let known: Arc<[Column]> = columns.into();
    tenure_testkit::fuzz(20_000, &examples, |bytes| {
        let reads = [
            Greeting::read(bytes).is_ok(),
            Column::read(bytes).is_ok(),
            PrepareOk::read(bytes).is_ok(),
            OkPacket::read(Reader(bytes)).is_ok(),
            OkPacket::read_old(Reader(bytes)).is_ok(),
            Row::of_prepared(bytes, &columns).is_ok(),
            Row::of_text(bytes, &columns).is_ok(),
            ColumnSource::read(bytes, Some(&known)).is_ok(),
            matches!(refusal(bytes), Some(Ok(_))),
        ];
        reads.contains(&true)
    });
}
