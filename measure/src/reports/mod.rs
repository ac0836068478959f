//! Reports: tables, plots, pages, and comparisons with papers.

pub mod case_plots;
pub mod case_tables;
pub mod compare;
pub mod conclusions;
pub mod figure_values;
pub mod flow_figures;
pub mod html;
pub mod html_table;
pub mod latex;
pub mod markdown;
pub mod methods;
pub mod page_parts;
pub mod paper_figures;
pub mod paper_qos;
pub mod paper_text;
pub mod papers;
pub mod pdf;
pub mod plot;
pub mod skew;
pub mod thesis;
