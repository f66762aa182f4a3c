//! A run is killed 500 times at different moments, and ends in the same bytes each time.

use std::fs;

use crate::common::{Folder, events, json, killed_again_and_again, table};

#[test]
fn five_hundred_kills_change_no_byte() {
    let folder = Folder::new("long");
    let data = folder.path("data.csv");
    table(&data, 60_000);
    let run = |name: &str| -> Vec<String> {
        let (ledger, model) = (folder.path(name), folder.path(&format!("{name}-model")));
        let fixed =
            ["stream", &data, "--label", "label", "--seed", "9", "--json", "--resume", "--test-fraction", "0.1"];
        fixed.into_iter().chain(["--ledger", &ledger, "--model", &model]).map(str::to_owned).collect()
    };
    let whole = run("whole");
    let expected = json(&whole.iter().map(String::as_str).collect::<Vec<_>>());
    let model = fs::read(folder.path("whole-model")).unwrap();
    let whole_events = events(&folder.path("whole"));
    let (mut kills, mut round) = (0, 0);
    while kills < 500 {
        let name = format!("run-{round}");
        let stopped = run(&name);
        let stopped: Vec<&str> = stopped.iter().map(String::as_str).collect();
        kills += killed_again_and_again(&stopped, round * 37 % 150 + 1);
        assert!(json(&stopped) == expected, "round {round}");
        assert!(fs::read(folder.path(&format!("{name}-model"))).unwrap() == model, "round {round}");
        assert!(events(&folder.path(&name)) == whole_events, "round {round}");
        fs::remove_file(folder.path(&name)).unwrap();
        round += 1;
    }
}
