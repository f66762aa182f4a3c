//! Replies with the images that items name.
//!
//! An image is served only while its bytes match the digest that was recorded when its item was asked.

use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use querist_run::labeling::{Images, Served};

use crate::reply::{HttpError, Reply, SANDBOX, bytes};

/// Serves an image if its bytes are those recorded.
pub(crate) fn reply(images: &Images, name: &str) -> Result<Reply, HttpError> {
    let (media_type, content) = match images.serve(name) {
        Served::Missing => return Err(HttpError::missing()),
        Served::Changed => {
            let message = format!("the image {name} has changed since its item was asked");
            let hint = "restore the file, or restart the server, which then skips the item";
            return Err(HttpError::new(StatusCode::CONFLICT, "image-changed", message, hint));
        }
        Served::Image { media_type, content } => (media_type, content),
    };
    let mut reply = bytes(media_type, content);
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
    Ok(reply)
}
