//! Times as text.

/// Returns milliseconds since 1970 as `2026-11-16T04:07:00.000Z`.
pub(super) fn iso_8601(milliseconds: u64) -> String {
    let (days, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    // Days since 1 March of year 0, in eras of 400 years; months begin with March.
    let z = days + 719_468;
    let (era, day) = (z / 146_097, z % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, calendar) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = era * 400 + year + u64::from(calendar <= 2);
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{calendar:02}-{date:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", rest % 1000)
}

#[cfg(test)]
mod tests {
    use super::iso_8601;

    #[test]
    fn times_match_the_calendar() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_102_444_800_000, "2100-01-01T00:00:00.000Z"),
        ];
        for (milliseconds, text) in table {
            assert_eq!(iso_8601(milliseconds), text);
        }
    }
}
