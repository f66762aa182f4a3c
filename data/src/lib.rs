//! Small public datasets as bytes; `README.md` lists their sources and licenses.

/// Seven kinds of dry beans, as gzipped CSV.
pub static DRY_BEAN_CSV_GZ: &[u8] = include_bytes!("../dry_bean.csv.gz");
/// The burnt area of forest fires, as CSV.
pub static FOREST_FIRES_CSV: &[u8] = include_bytes!("../forest_fires.csv");
/// The aquatic toxicity of chemicals, as CSV.
pub static QSAR_AQUATIC_TOXICITY_CSV: &[u8] = include_bytes!("../qsar_aquatic_toxicity.csv");
/// SMS messages, `spam` or `ham`, as CSV.
pub static SMS_SPAM_TEXT_CSV: &[u8] = include_bytes!("../sms_spam_text.csv");
/// Three classes of waves with noise, as CSV.
pub static WAVEFORM_CSV: &[u8] = include_bytes!("../waveform.csv");
