//! Columns of Parquet files.
//! It never knows a recipe; it never needs Arrow.
