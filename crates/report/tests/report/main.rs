//! Reports as their readers meet them: as files, with whatever names
//! others chose, and in a browser.

mod a_page_in_a_browser;
mod edges;
mod hostile_names;
mod one_run_three_forms;
mod pages;
