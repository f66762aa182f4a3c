//! Active learning that knows what it is optimizing.

pub use querist_data as data;
pub use querist_engine as engine;
pub use querist_ledger as ledger;
pub use querist_render as render;
pub use querist_rows as rows;
pub use querist_run as run;
pub use querist_theory as theory;
