"""A first model, as the book has it. Checked by mypy, and run by the tests of the book."""

import numpy as np

import sordino

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 2))
y = (X[:, 0] > 0).astype(int)

budget = sordino.Budget(epsilon=3.0, delta=1e-6)
model = sordino.linear_model.LogisticRegression(1.0, bounds=(-4, 4), classes=[0, 1], budget=budget)
model.fit(X, y)
upper: float = model.privacy_.epsilon.upper
words: str = str(model.privacy_.explain(people=1000))
labels = model.predict(X[:5])

event = sordino.accounting.Gaussian(noise_multiplier=1.1).poisson_sampled(0.01).repeated(1000)
cost: sordino.accounting.Cost = sordino.accounting.epsilon(event, delta=1e-5)
count: int = sordino.mechanisms.discrete_laplace(10, epsilon=0.5).value
