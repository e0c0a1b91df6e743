//! Files of records, read into data sets by recipes.
//! It never decides what is released, and never writes.
