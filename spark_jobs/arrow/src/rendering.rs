/// How the values of a column are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rendering {
    /// Typed values, with `decimal` and `varint` as exact text.
    #[default]
    Typed,
    /// Every `decimal` and `varint` in the column as a decimal of this precision and scale.
    Decimal { precision: u8, scale: i8 },
    /// Undecoded bytes or elements.
    Raw,
}

/// The maximum precision of Arrow's 128-bit decimals, and of Spark's decimals.
const MAX_PRECISION: u8 = 38;

impl Rendering {
    /// Parses `raw` or a type such as `decimal(12,2)`. The error explains what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "raw" {
            return Ok(Self::Raw);
        }
        let digits = text
            .strip_prefix("decimal(")
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|inner| inner.split_once(','));
        let digits = digits.and_then(|(precision, scale)| {
            Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?))
        });
        match digits {
            Some((precision, scale))
                if (1..=MAX_PRECISION).contains(&precision)
                    && (0..=precision.cast_signed()).contains(&scale) =>
            {
                Ok(Self::Decimal { precision, scale })
            }
            _ => Err(format!(
                "\"{text}\" is neither \"raw\" nor \"decimal(p,s)\" \
                 with p up to {MAX_PRECISION} and s up to p"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renderings_are_parsed() {
        assert_eq!(Rendering::parse("raw"), Ok(Rendering::Raw));
        for text in ["decimal(12,2)", "decimal(12, 2)"] {
            let (precision, scale) = (12, 2);
            assert_eq!(
                Rendering::parse(text),
                Ok(Rendering::Decimal { precision, scale })
            );
        }
    }

    #[test]
    fn unknown_rendering_is_rejected() {
        for text in [
            "",
            "text",
            "decimal",
            "decimal(39,0)",
            "decimal(2,3)",
            "decimal(0,0)",
        ] {
            assert!(Rendering::parse(text).is_err(), "{text}");
        }
    }
}
