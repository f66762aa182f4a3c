//! The data model of a figure: plain data that any part of the program can build.

/// One figure: panels side by side under a common title.
///
/// The title is drawn. The caption is not, because papers and pages set captions as text.
/// It serves as the description of the picture for readers who cannot see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Drawn above all panels; empty for none.
    pub title: String,
    /// The message of the figure, in full sentences.
    pub caption: String,
    /// The panels, side by side, at most three in a row.
    pub panels: Vec<Panel>,
}

/// One plot with its own axes and legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Drawn above the plot; empty for none.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series. Bands are drawn first, then the others in this order.
    pub series: Vec<Series>,
}

/// One axis of a panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// The interval to show; data outside it is clipped. `None` fits the data.
    pub range: Option<(f64, f64)>,
    /// The mapping from values to lengths.
    pub scale: AxisScale,
}

impl Axis {
    /// Creates a linear axis that fits the data.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }
}

/// The mapping from values to lengths along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal differences have equal lengths.
    #[default]
    Linear,
    /// Equal ratios have equal lengths; values that are not positive are skipped.
    Log,
}

/// A named set of points with one drawing style.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Shown in the legend; an empty name keeps the series out of it.
    pub name: String,
    /// The color of everything drawn for this series.
    pub color: Color,
    /// The drawing style of the points.
    pub mark: SeriesMark,
    /// Pairs `(x, y)`. A pair that is not finite breaks a line.
    pub points: Vec<(f64, f64)>,
}

/// The drawing style of the points of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum SeriesMark {
    /// A solid line through the points.
    Line,
    /// A dashed line through the points.
    Dashed,
    /// A dotted line through the points.
    Dotted,
    /// A disc at each point.
    Points,
    /// A filled area. The points are its upper edge and these values its lower edge at the same `x`.
    /// A missing value counts as not finite.
    Band(Vec<f64>),
}

/// Six colors that readers with any kind of color vision can distinguish (after Okabe and Ito).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum Color {
    Blue,
    Orange,
    Green,
    Red,
    Purple,
    Gray,
}

impl Color {
    /// Returns the red, green and blue components.
    pub fn rgb(self) -> [u8; 3] {
        match self {
            Self::Blue => [0x00, 0x72, 0xb2],
            Self::Orange => [0xe6, 0x9f, 0x00],
            Self::Green => [0x00, 0x9e, 0x73],
            Self::Red => [0xd5, 0x5e, 0x00],
            Self::Purple => [0xcc, 0x79, 0xa7],
            Self::Gray => [0x66, 0x66, 0x66],
        }
    }
}
