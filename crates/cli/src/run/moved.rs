//! Arguments for the moved data of a labeling session.

use std::path::PathBuf;

use clap::Args;
use querist_run::labeling::location::Moved;

/// Where the data are now, if they were moved.
#[derive(Args, Clone, Debug)]
pub(crate) struct MovedArgs {
    /// The data of a labeling session, if you moved them
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// The folder of images of a labeling session, if you moved it
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
}

impl MovedArgs {
    /// Returns the paths from the command line.
    pub(crate) fn moved(&self) -> Moved {
        Moved { data: self.data.clone(), images: self.images.clone() }
    }
}
