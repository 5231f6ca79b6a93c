/// Hashes the key of a row: half of BLAKE3 over the length of the partition key, the partition key,
/// and either a one and the clustering key, or a zero.
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
