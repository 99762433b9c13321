import pytest
import tiny_model


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return tiny_model.write(tmp_path_factory.mktemp("model") / "tiny")
