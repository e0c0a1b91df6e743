//! The recipes that come with the crate.

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    RECIPES.iter().map(|(name, _)| *name)
}

/// One of them, as a table in TOML.
pub fn text(name: &str) -> Option<&'static str> {
    RECIPES.iter().find(|(other, _)| *other == name).map(|(_, text)| *text)
}

const RECIPES: &[(&str, &str)] = &[
    ("a9a", include_str!("a9a.toml")),
    ("acs-13", include_str!("acs-13.toml")),
    ("adult-105", include_str!("adult-105.toml")),
    ("adult-13", include_str!("adult-13.toml")),
    ("adult-41", include_str!("adult-41.toml")),
    ("adult-fair", include_str!("adult-fair.toml")),
    ("bank-marketing", include_str!("bank-marketing.toml")),
    ("breast-cancer", include_str!("breast-cancer.toml")),
    ("census-13", include_str!("census-13.toml")),
    ("census-income", include_str!("census-income.toml")),
    ("cifar-10", include_str!("cifar-10.toml")),
    ("compas", include_str!("compas.toml")),
    ("cooking", include_str!("cooking.toml")),
    ("covtype", include_str!("covtype.toml")),
    ("digits", include_str!("digits.toml")),
    ("fashion-mnist", include_str!("fashion-mnist.toml")),
    ("german-credit", include_str!("german-credit.toml")),
    ("ijcnn1", include_str!("ijcnn1.toml")),
    ("mnist", include_str!("mnist.toml")),
    ("mushrooms", include_str!("mushrooms.toml")),
    ("stackoverflow-tags", include_str!("stackoverflow-tags.toml")),
    ("stackoverflow-titles20", include_str!("stackoverflow-titles20.toml")),
    ("w8a", include_str!("w8a.toml")),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    #[test]
    fn every_recipe_is_one() {
        for name in names() {
            let parsed = toml::from_str::<Recipe>(text(name).expect("it is listed"));
            parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!Recipe::named(name).expect("it parses").train_files().is_empty(), "{name}");
        }
        let error = Recipe::named("adlut").expect_err("no such recipe").to_string();
        assert!(error.contains("adult-105"), "{error}");
    }

    #[test]
    fn other_files_bring_their_own_labels() {
        let own =
            Recipe { recipe: Some("mnist".into()), file: Some("mine".into()), ..Recipe::default() };
        let filled = own.resolved().expect("a recipe");
        assert_eq!((filled.labels, filled.test), (None, None));
        assert_eq!(filled.file.as_deref(), Some("mine"));
        assert!(filled.target.is_some());
    }
}
