/// Identifies a row by its partition key and its clustering: half of BLAKE3 over the length of the
/// key, the key, and the clustering after a one, or a zero without clustering.
pub fn row_id(pk: &[u8], ck: Option<&[u8]>) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(pk.len() as u64).to_be_bytes());
    hasher.update(pk);
    match ck {
        Some(ck) => {
            hasher.update(&[1]);
            hasher.update(ck);
        }
        None => {
            hasher.update(&[0]);
        }
    }
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    id
}
