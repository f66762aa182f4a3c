//! Loads files and prints what was found in them.

#![allow(clippy::print_stdout)]

use querist_data::{Input, Options, load};

fn main() {
    for path in std::env::args().skip(1) {
        match load(&Input::File(path.into()), &Options::default()) {
            Ok(loaded) => {
                println!(
                    "{}\n  {} rows × {}",
                    loaded.encoder.describe(),
                    loaded.batch.rows.len(),
                    loaded.batch.rows.dim()
                );
            }
            Err(error) => println!("{error}"),
        }
    }
}
