//! Images are bound by their digests: a changed image is neither shown nor labeled.

use super::*;

/// Writes the data of a session with images `p0.png` to `p11.png`; returns the arguments and the folder of images.
fn pictures(folder: &Folder) -> (Vec<String>, String) {
    let (data, ledger, images) = (folder.path("pictures.csv"), folder.path("run.ledger"), folder.path("images"));
    fs::create_dir(&images).unwrap();
    let mut rows = "id,a,picture\n".to_owned();
    for row in 0..12 {
        fs::write(format!("{images}/p{row}.png"), format!("\u{89}PNG of row {row}")).unwrap();
        rows.push_str(&format!("t{row},{row},p{row}.png\n"));
    }
    fs::write(&data, rows).unwrap();
    let fixed = ["label", &data, "--numbers", "a", "--show", "picture,a", "--labels", "bad,good", "--port", "0"];
    let more = ["--no-browser", "--json", "--ledger", &ledger, "--images", &images];
    (fixed.into_iter().chain(more).map(str::to_owned).collect(), images)
}

#[test]
fn images_are_stored_by_path_and_digest() {
    let folder = Folder::new("content-images");
    let ledger = folder.path("run.ledger");
    let (arguments, images) = pictures(&folder);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut server = LabelServer::start(&arguments);
    let mut client = server.client();
    for number in 0..6 {
        let item = client.next("Ada", 1).unwrap().remove(0);
        client.answer("Ada", &item["ask"], &format!("k{number}"), ["bad", "good"][number % 2]).unwrap();
    }
    assert!(server.terminate());
    let (out, err) = run(&["export", &ledger, "--format", "jsonl"]);
    assert_eq!(err, "");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &lines {
        let picture = &line["content"]["picture"];
        let bytes = fs::read(format!("{images}/{}", picture["path"].as_str().unwrap())).unwrap();
        assert_eq!(picture["sha256"], Digest::of(&bytes).to_string());
    }
    // The export has the path where other tools read it.
    let (studio, _) = run(&["export", &ledger, "--format", "label-studio"]);
    let tasks: Vec<Value> = serde_json::from_str(&studio).unwrap();
    assert!(tasks.iter().all(|task| task["annotations"][0]["result"][0]["to_name"] == "image"));
    assert!(tasks.iter().all(|task| task["data"]["image"].as_str().is_some_and(|path| path.contains(".png"))));
    let (doccano, _) = run(&["export", &ledger, "--format", "doccano"]);
    assert!(doccano.lines().all(|line| line.contains("\"image\":\"p") && !line.contains("filename")), "{doccano}");
    // Another image under the same name is another item.
    let replaced = lines[0]["content"]["picture"]["path"].as_str().unwrap();
    fs::write(format!("{images}/{replaced}"), "another picture").unwrap();
    let (out, err) = run(&["export", &ledger, "--model", &folder.path("model")]);
    assert!(out.contains("a model of 5 labels"), "{out}");
    let id = lines[0]["id"].as_str().unwrap();
    assert!(err.contains(&format!("1 item has changed since being asked; training skips: {id}")), "{err}");
    // A resumed session does not need --images.
    let mut server = LabelServer::start(&arguments[..arguments.len() - 2]);
    let item = server.client().next("Ada", 1).unwrap().remove(0);
    assert_eq!(item["fields"][0]["kind"], "image");
    assert!(server.terminate());
}

#[test]
fn a_changed_image_is_neither_shown_nor_labeled() {
    let folder = Folder::new("content-image-changed");
    let (arguments, images) = pictures(&folder);
    let mut server = LabelServer::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let mut client = server.client();
    let item = client.next("Ada", 1).unwrap().remove(0);
    let shown = item["fields"][0]["value"].as_str().unwrap().to_owned();
    let file = format!("{images}/{}", shown.rsplit('/').next().unwrap());
    let before = fs::read(&file).unwrap();
    assert_eq!(client.get(&shown).unwrap().0, 200);
    fs::write(&file, "another picture").unwrap();
    let (status, said) = client.get(&shown).unwrap();
    assert!(status == 409 && said.as_str().unwrap().contains("has changed"), "{status} {said}");
    let problems = client.get("/api/status").unwrap().1["data_problems"].to_string();
    assert!(problems.contains("1 image has changed"), "{problems}");
    let refused = client.answer("Ada", &item["ask"], "k", "bad").unwrap_err().to_string();
    assert!(refused.contains("refused") && refused.contains("has changed"), "{refused}");
    // A deleted file is rejected, too.
    fs::remove_file(&file).unwrap();
    assert_eq!(client.get(&shown).unwrap().0, 404);
    assert!(client.answer("Ada", &item["ask"], "k", "bad").is_err());
    fs::write(&file, &before).unwrap();
    assert_eq!(client.get(&shown).unwrap().0, 200);
    client.answer("Ada", &item["ask"], "k", "bad").unwrap();
    assert_eq!(client.get("/api/status").unwrap().1["data_problems"], serde_json::json!([]));
    // Saved answers are kept.
    fs::write(&file, "another picture").unwrap();
    assert_eq!(client.get(&shown).unwrap().0, 409);
    client.answer("Ada", &item["ask"], "k", "bad").unwrap();
    assert!(server.terminate());
}

#[test]
fn items_without_their_image_are_not_asked() {
    let folder = Folder::new("content-image-missing");
    let (arguments, images) = pictures(&folder);
    fs::remove_file(format!("{images}/p3.png")).unwrap();
    #[cfg(unix)]
    {
        fs::rename(format!("{images}/p5.png"), folder.path("outside.png")).unwrap();
        std::os::unix::fs::symlink(folder.path("outside.png"), format!("{images}/p5.png")).unwrap();
    }
    #[cfg(not(unix))]
    fs::remove_file(format!("{images}/p5.png")).unwrap();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut server = LabelServer::start(&arguments);
    let mut client = server.client();
    let status = client.get("/api/status").unwrap().1;
    let problem = "2 items are not asked, because their images are missing from the folder or cannot be shown: t3, t5";
    assert_eq!(status["data_problems"], serde_json::json!([problem]));
    assert_eq!(status["pool"], 10);
    for number in 0..10 {
        let item = client.next("Ada", 1).unwrap().remove(0);
        assert!(item["item"] != "t3" && item["item"] != "t5", "{item}");
        // The cells belong to the same row as the item.
        assert_eq!(item["fields"][0]["value"], item["item"].as_str().unwrap().replace('t', "/images/p") + ".png");
        client.answer("Ada", &item["ask"], &format!("k{number}"), ["bad", "good"][number % 2]).unwrap();
    }
    assert!(client.next("Ada", 1).unwrap().is_empty());
    assert!(server.terminate());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut server.process.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains(problem), "{said}");
    // A new image adds an item.
    fs::write(format!("{images}/p3.png"), "a picture").unwrap();
    let mut server = LabelServer::start(&arguments);
    assert_eq!(server.client().next("Ada", 1).unwrap()[0]["item"], "t3");
    assert!(server.terminate());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut server.process.stderr.take().unwrap(), &mut said).unwrap();
    assert!(said.contains("1 new item since the last time"), "{said}");
}
