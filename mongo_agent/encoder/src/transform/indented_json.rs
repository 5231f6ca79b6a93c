//! Indents extended JSON like Java's driver, with a line for each member.

/// Indents JSON that contains no whitespace between its parts except a space after each colon.
pub(super) fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len().saturating_mul(2));
    let mut depth = 0_usize;
    let mut is_in_string = false;
    let mut is_escaped = false;
    let mut previous = 0;
    for byte in json {
        let is_empty = matches!((previous, *byte), (b'{', b'}') | (b'[', b']'));
        match byte {
            b'}' | b']' if !is_in_string => {
                depth = depth.saturating_sub(1);
                if !is_empty {
                    new_line(&mut out, depth);
                }
            }
            _ if !is_in_string && matches!(previous, b'{' | b'[') => {
                new_line(&mut out, depth);
            }
            _ => {}
        }
        out.push(*byte);
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            b'{' | b'[' if !is_in_string => depth = depth.saturating_add(1),
            b',' if !is_in_string => new_line(&mut out, depth),
            _ => {}
        }
        previous = if is_in_string { 0 } else { *byte };
    }
    out
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth.saturating_mul(2)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_has_its_line() {
        let json = br#"{"a": [1,{"b": {}}],"c": "[{\",}","d": []}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": {}\n    }\n  ],\n  \
                        \"c\": \"[{\\\",}\",\n  \"d\": []\n}";
        assert_eq!(String::from_utf8_lossy(&indented(json)), expected);
        assert_eq!(indented(b"{}"), b"{}");
    }
}
