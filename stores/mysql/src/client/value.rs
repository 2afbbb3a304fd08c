//! Values as packets have them, and as the store has them.

/// A value of a statement or of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    /// Of texts, too, and of all values of a statement that was sent as a text.
    Bytes(Vec<u8>),
}

/// What a value may be read as.
pub(crate) trait FromValue: Sized {
    /// None if it is something else.
    fn from_value(value: &Value) -> Option<Self>;
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        Self::from_utf8(Vec::from_value(value)?).ok()
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        match u8::from_value(value)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl FromValue for $integer {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(number) => Self::try_from(*number).ok(),
                    Value::UInt(number) => Self::try_from(*number).ok(),
                    Value::Bytes(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
                    Value::Null | Value::Double(_) => None,
                }
            }
        }
    )*};
}

integers! { u8 u32 u64 usize i16 i32 i64 }

macro_rules! signed {
    ($($integer:ty)*) => {$(
        impl From<$integer> for Value {
            fn from(number: $integer) -> Self {
                Self::Int(number.into())
            }
        }
    )*};
}

signed! { i16 i32 i64 }

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::UInt(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Bytes(text.into_bytes())
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_from_either_protocol_and_only_where_it_fits() {
        for value in [Value::Int(7), Value::UInt(7), Value::Bytes(b"7".to_vec())] {
            assert_eq!(u8::from_value(&value), Some(7), "{value:?}");
            assert_eq!(i64::from_value(&value), Some(7), "{value:?}");
            assert_eq!(bool::from_value(&value), None, "{value:?}");
        }
        assert_eq!(i64::from_value(&Value::Bytes(b"-7".to_vec())), Some(-7));
        assert_eq!(u64::from_value(&Value::Int(-7)), None);
        assert_eq!(i64::from_value(&Value::UInt(u64::MAX)), None);
        for none in [Value::Null, Value::Double(7.0), Value::Bytes(b"7 ".to_vec())] {
            assert_eq!(i64::from_value(&none), None, "{none:?}");
        }
    }

    #[test]
    fn what_may_be_missing_is_missing_only_where_there_is_nothing() {
        assert_eq!(Option::<i64>::from_value(&Value::Null), Some(None));
        assert_eq!(Option::<i64>::from_value(&Value::Bytes(b"seven".to_vec())), None);
        assert_eq!(
            Option::<String>::from_value(&"seven".to_owned().into()),
            Some(Some("seven".to_owned()))
        );
        assert_eq!(String::from_value(&Value::Bytes(vec![0xff])), None);
    }
}
