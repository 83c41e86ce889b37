//! Reports as readers see them: as files, with any names, and in a browser.

mod a_page_in_a_browser;
mod edges;
mod hostile_names;
mod one_run_three_forms;
mod pages;
